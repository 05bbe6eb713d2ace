// The list of all clips: each is its own first frame, tinted by what was said of it, and plays while the pointer or the
// focus is on it. The clips are in the browser already, so nobody makes pictures of them.
"use strict";

class Overview {
  static FIRST = "#t=0.01"; // the time of a clip's first frame, behind its address

  // `open(index)` leads to a place.
  constructor({ open }) {
    this.open = open;
    this.wanted = "all"; // the name of the filter
  }

  show(places, stage) {
    Object.assign(this, { places, stage });
    this.clear();
    this.tiles = new Map(this.order.map((index) => [index, this.tile(index)]));
    $("strip").append(...this.tiles.values());
    this.showFilters();
  }

  // The videos let go of their clips.
  clear() {
    for (const video of $("strip").querySelectorAll("video")) video.removeAttribute("src"), video.load();
    $("strip").replaceChildren();
  }

  // Those marked for later come first.
  get order() {
    const { all, later } = this.places;
    const first = (index) => Number(!later.has(index));
    return [...all.keys()].sort((a, b) => first(a) - first(b) || a - b);
  }

  tile(index) {
    const { grade, doubt, flag } = this.places.all[index];
    const isLater = this.places.later.has(index);
    const entry = document.createElement("li");
    const button = document.createElement("button");
    button.innerHTML = '<span class="film"></span><span class="said"><span></span><em></em><strong></strong></span>';
    const [number, mark, said] = button.lastChild.children;
    number.textContent = index + 1;
    mark.textContent = isLater ? word("later") : "";
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

  // Filters by what was said, each with its number; those that would show nothing are left out.
  get filters() {
    const { all, later } = this.places;
    const has = (test) => [...all.keys()].filter((index) => test(all[index], index));
    const found = [["all", word("filter all"), [...all.keys()]]];
    for (let value = 0; value <= 4; value++)
      found.push([`g${value}`, word("grade", { grade: value }), has(({ grade, flag }) => flag === null && grade === value), value]);
    found.push(["flagged", word("flag"), has(({ flag }) => flag !== null), "⚑"]);
    found.push(["open", word("nothing"), has(({ grade, flag }) => grade === null && flag === null)]);
    found.push(["later", word("later"), has((_, index) => later.has(index))]);
    return found.filter(([, , indexes]) => indexes.length);
  }

  showFilters() {
    const { filters } = this;
    if (!filters.some(([name]) => name === this.wanted)) this.wanted = "all";
    const buttons = filters.map(([name, words, indexes, sign = words]) => {
      const button = document.createElement("button");
      button.setAttribute("aria-pressed", String(name === this.wanted));
      button.setAttribute("aria-label", `${words}: ${indexes.length}`);
      button.innerHTML = "<span></span> <strong></strong>";
      button.firstChild.textContent = sign;
      if (Number.isInteger(sign)) button.firstChild.className = `dot ${name}`;
      button.lastChild.textContent = indexes.length;
      button.addEventListener("click", () => this.choose(name));
      button.dataset.filter = name;
      return button;
    });
    $("filters").hidden = filters.length < 3;
    $("filters").replaceChildren(...buttons);
    const [, , shown] = filters.find(([name]) => name === this.wanted);
    for (const [index, tile] of this.tiles) tile.hidden = !shown.includes(index);
  }

  choose(name) {
    this.wanted = name;
    this.showFilters();
    document.querySelector(`[data-filter="${name}"]`).focus();
  }
}
