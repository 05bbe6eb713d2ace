// The places of a batch and what was said of each: grade, flag, comment; and the active seconds spent there.
"use strict";

class Places {
  constructor(places, today) {
    this.all = places.map((place) => ({ ...place, spent: 0 }));
    this.today = today; // clips that were judged today, in whatever batch
  }

  answered(index) {
    return this.all[index].grade !== null || this.all[index].flag !== null;
  }

  get open() {
    return [...this.all.keys()].filter((index) => !this.answered(index));
  }

  // The next open place, those before it last; undefined with none left.
  after(index) {
    return this.open.find((each) => each > index) ?? this.open[0];
  }

  // An entry for the outbox that says something of a place; it holds here at once.
  entry(index, method, what, body) {
    const { grade, flag, comment } = this.all[index];
    const entry = { method, what, position: index + 1, body, before: { grade, flag, comment } };
    this.say(entry);
    return entry;
  }

  say({ method, what, position, body }) {
    if (what === "questions") return; // which say nothing of a place
    const place = this.all[position - 1];
    if (what === "judgements" && place.grade === null) this.today += 1;
    if (what === "judgements") Object.assign(place, { grade: body.grade, flag: null, comment: "" });
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
    return Math.min(86400, Math.round(1000 * spent) / 1000);
  }
}
