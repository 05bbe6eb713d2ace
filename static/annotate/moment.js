// What follows a submission: what was done, how long it took and what it earned; Enter, and the next batch begins, whose
// first clips have been loading meanwhile.
"use strict";

class Moment {
  // `begin(next, today)` begins a batch in this page; `home` is the address to go to when there is none.
  constructor({ home, begin }) {
    Object.assign(this, { home, go: begin });
  }

  // `said` is the server's answer: the seconds that count, what they earn, and the next batch or why there is none.
  show({ moment, next, nothing }, places, pace) {
    this.next = next;
    this.today = places.today = moment.today;
    const seconds = Math.round(moment.seconds);
    const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
    $("tally").replaceChildren(...this.counts(places.tally));
    $("counted").textContent = minutes ? word("minutes", { minutes, seconds: rest }) : word("seconds", { seconds });
    $("earned").textContent = moment.earned;
    $("earned").parentElement.hidden = !moment.earned;
    $("so-far").textContent = pace.today(places);
    $("nothing").textContent = nothing || "";
    $("next-query").textContent = next?.query || "";
    $("next-query").parentElement.hidden = !next;
    label("begin-next", word(next ? "begin" : "home"));
    $("moment").hidden = false;
    $("begin-next").focus();
  }

  // Without a network, the submission waits in this browser; `address` is that of the next batch that is kept here.
  park(places, address) {
    this.next = null;
    this.home = address || this.home;
    $("tally").replaceChildren(...this.counts(places.tally));
    $("counted").closest("dl").hidden = true;
    $("nothing").textContent = "";
    $("next-query").parentElement.hidden = true;
    $("moment-words").textContent = word("parked");
    label("begin-next", word(address ? "begin" : "home"));
    $("moment").hidden = false;
    $("begin-next").focus();
  }

  // How many clips got each grade, in the order of the buttons, and how many a flag.
  counts({ grades, flags }) {
    const made = grades.map((count, grade) => this.count(`dot g${grade}`, grade, word("grade", { grade }), count));
    return flags ? [...made, this.count("flag", "⚑", word("flag"), flags)] : made;
  }

  count(kind, sign, words, count) {
    const entry = document.createElement("li");
    entry.innerHTML = `<span class="${kind}" aria-hidden="true"></span><span class="hidden"></span><strong></strong>`;
    const [shown, heard, number] = entry.children;
    [shown.textContent, heard.textContent, number.textContent] = [sign, `${words}: `, count];
    entry.classList.toggle("none", !count);
    return entry;
  }

  begin() {
    if (!this.next) return void (window.location.href = this.home);
    hide($("moment"));
    this.go(this.next, this.today);
  }
}
