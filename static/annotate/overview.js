// The list of all clips, grouped by grade: each is its own first frame, and plays while the pointer or the focus is on
// it. The clips are in the browser already, so nobody makes pictures of them.
"use strict";

class Overview {
  static FIRST = "#t=0.01"; // the time of a clip's first frame, behind its address

  // `open(index)` leads to a place.
  constructor({ open }) {
    this.open = open;
  }

  show(places, stage) {
    Object.assign(this, { places, stage });
    this.clear();
    this.tiles = new Map();
    $("strip").append(...this.groups.map((group) => this.section(group)));
  }

  // The videos let go of their clips.
  clear() {
    for (const video of $("strip").querySelectorAll("video")) video.removeAttribute("src"), video.load();
    $("strip").replaceChildren();
  }

  // What is left comes first: the clips marked for later and those without a grade; then those of each grade.
  get groups() {
    const { all, later } = this.places;
    const left = [...all.keys()].filter((index) => !later.has(index));
    const has = (test) => left.filter((index) => test(all[index]));
    const found = [["later", word("later"), [...all.keys()].filter((index) => later.has(index))]];
    found.push(["open", word("nothing"), has(({ grade, flag }) => grade === null && flag === null)]);
    for (let value = 4; value >= 0; value--) {
      const { name } = document.querySelector(`[data-grade="${value}"]`).dataset;
      found.push([`g${value}`, name, has(({ grade, flag }) => flag === null && grade === value), value]);
    }
    found.push(["flagged", word("flag"), has(({ flag }) => flag !== null), "⚑"]);
    return found.filter(([, , indexes]) => indexes.length);
  }

  section([kind, words, indexes, sign = ""]) {
    const group = document.createElement("section");
    group.dataset.group = kind;
    group.innerHTML = "<h3><span></span> <b></b> <small></small></h3><ol></ol>";
    const [dot, name, count] = group.firstChild.children;
    [dot.textContent, name.textContent, count.textContent] = [sign, words, indexes.length];
    if (Number.isInteger(sign)) dot.className = `dot ${kind}`;
    for (const index of indexes) {
      this.tiles.set(index, this.tile(index));
      group.lastChild.append(this.tiles.get(index));
    }
    return group;
  }

  tile(index) {
    const { grade, doubt, flag } = this.places.all[index];
    const entry = document.createElement("li");
    const button = document.createElement("button");
    button.innerHTML = '<span class="film"></span><span class="said"><span></span><strong></strong></span>';
    const [number, said] = button.lastChild.children;
    number.textContent = button.dataset.number = index + 1;
    said.textContent = flag !== null ? "⚑" : doubt ? `${grade} ±` : (grade ?? "–");
    button.className = `tile ${flag !== null ? "flagged" : grade !== null ? `g${grade}` : "open"}`;
    button.setAttribute("aria-label", word("clip", { clip: index + 1, state: this.state(index) }));
    button.addEventListener("click", () => this.open(index));
    this.film(index, button);
    entry.append(button);
    return entry;
  }

  state(index) {
    const { grade, doubt, flag } = this.places.all[index];
    const graded = word(doubt ? "grade between" : "grade", { grade });
    const said = flag !== null ? word("flag") : grade !== null ? graded : word("nothing");
    return this.places.later.has(index) ? `${said}, ${word("later")}` : said;
  }

  // Clips that have come meanwhile show, too.
  fill() {
    for (const [index, tile] of this.tiles) if (!tile.querySelector("video")) this.film(index, tile.firstChild);
  }

  film(index, button) {
    const address = this.stage.addressOf(index);
    if (!address) return;
    const video = document.createElement("video");
    Object.assign(video, { muted: true, loop: true, playsInline: true, preload: "metadata", tabIndex: -1 });
    video.src = `${address}${Overview.FIRST}`;
    const play = () => video.play().catch(() => {});
    const stop = () => button.matches(":hover, :focus-visible") || (video.pause(), (video.currentTime = 0.01));
    for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, play);
    for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, stop);
    button.firstChild.append(video);
  }
}
