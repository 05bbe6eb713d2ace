// The quiet strip below the grades: how far the batch is, the seconds that a clip takes, the time since a break, and the
// person's own goal for the day. It asks for nothing; after 50 minutes it suggests a break, unless she turned that off.
"use strict";

class Pace {
  static LONG = 50; // minutes of work, after which a break is suggested
  static TOLD = 5; // minutes, from which on the time since a break is told
  static FEWEST = 3; // clips, from which on a mean is told

  // `who` names the person; `goal` is a number of clips or 0; `suggests` says whether breaks are suggested.
  constructor({ timer, who, goal, suggests }) {
    Object.assign(this, { timer, goal, suggests });
    this.name = `reeljudge/${encodeURIComponent(who)}/pace`; // in the storage of this tab, for when it is loaded again
    const { seconds = 0, clips = 0, since = 0, at = 0 } = JSON.parse(sessionStorage.getItem(this.name) || "{}");
    const goesOn = Date.now() - at < 1000 * ActiveTime.BREAK;
    [this.seconds, this.clips] = goesOn ? [seconds, clips] : [0, 0];
    if (goesOn) timer.since = since;
    window.addEventListener("pagehide", () => this.keep());
  }

  // A clip was judged for the first time, after so many seconds.
  count(seconds) {
    this.seconds += seconds;
    this.clips += 1;
  }

  keep() {
    const { seconds, clips, timer } = this;
    sessionStorage.setItem(this.name, JSON.stringify({ seconds, clips, since: timer.since, at: Date.now() }));
  }

  get minutes() {
    return Math.floor(this.timer.since / 60);
  }

  show(places) {
    const { minutes } = this;
    const all = places.all.length;
    const each = this.clips >= Pace.FEWEST ? word("each", { n: Math.round(this.seconds / this.clips) }) : "";
    $("done").textContent = word("done", { n: all - places.open.length, all });
    $("each").textContent = each;
    $("suggest").hidden = !this.suggests || minutes < Pace.LONG;
    $("since").textContent = minutes >= Pace.TOLD ? word($("suggest").hidden ? "since" : "long", { n: minutes }) : "";
    $("pace").classList.toggle("long", !$("suggest").hidden);
    $("today").textContent = this.today(places);
    $("today").hidden = !this.goal;
  }

  today({ today }) {
    if (!this.goal) return word("today", { n: today });
    return word(today < this.goal ? "today of goal" : "goal reached", { n: today, goal: this.goal });
  }
}
