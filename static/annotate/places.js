// The places of a batch and what was said of each: grade, flag, comment; the active seconds spent there; and which of
// them are marked to be looked at again later.
"use strict";

class Places {
  // Seconds, as the server takes them.
  static rounded(seconds) {
    return Math.min(86400, Math.round(1000 * seconds) / 1000);
  }

  // Marks are kept under a name in the browser's storage, so that they outlast the page.
  constructor(places, today, name) {
    this.all = places.map((place) => ({ ...place, spent: 0 }));
    this.today = today; // clips that were judged today, in whatever batch
    this.name = name;
    this.readMarks();
  }

  readMarks() {
    this.later = new Set(JSON.parse(localStorage.getItem(this.name) || "[]"));
  }

  mark(index, wanted) {
    if (wanted) this.later.add(index);
    else this.later.delete(index);
    try {
      localStorage.setItem(this.name, JSON.stringify([...this.later]));
    } catch {} // storage is full or forbidden: the page knows
  }

  answered(index) {
    return this.all[index].grade !== null || this.all[index].flag !== null;
  }

  get open() {
    return [...this.all.keys()].filter((index) => !this.answered(index));
  }

  // The next open place, those before it last; undefined with none left but those that wait for later.
  after(index) {
    const open = this.open.filter((each) => !this.later.has(each));
    return open.find((each) => each > index) ?? open[0];
  }

  // The first of those marked for later after a place; undefined with none left.
  laterThan(index) {
    return [...this.later].sort((a, b) => a - b).find((each) => each > index);
  }

  // How many have each grade, and how many are flagged.
  get tally() {
    const grades = [0, 0, 0, 0, 0];
    for (const { grade, flag } of this.all) if (flag === null && grade !== null) grades[grade] += 1;
    return { grades, flags: this.all.filter(({ flag }) => flag !== null).length };
  }

  // An entry for the outbox that says something of a place; it holds here at once.
  entry(index, method, what, body) {
    const { grade, doubt, flag, comment } = this.all[index];
    const entry = { method, what, position: index + 1, body, before: { grade, doubt, flag, comment } };
    this.say(entry);
    return entry;
  }

  say({ method, what, position, body }) {
    if (what === "questions" || what === "submit") return; // which say nothing of a place
    const place = this.all[position - 1];
    if (what === "judgements" && place.grade === null) this.today += 1;
    if (what === "judgements") Object.assign(place, { grade: body.grade, doubt: Boolean(body.doubt), flag: null, comment: "" });
    else if (method === "PUT") Object.assign(place, { flag: body.reason, comment: body.comment });
    else Object.assign(place, { flag: null, comment: "" });
  }

  // The server would not have it.
  takeBack({ position, before }) {
    if (!before) return;
    const place = this.all[position - 1];
    if (place.grade !== null && before.grade === null) this.today -= 1;
    Object.assign(place, before);
  }

  // The seconds spent at a place since something was said of it.
  take(index) {
    const { spent } = this.all[index];
    this.all[index].spent = 0;
    return Places.rounded(spent);
  }
}
