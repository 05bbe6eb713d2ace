// What the annotator said and the server has not acknowledged yet. Kept in the browser's storage, one entry a
// press, so that a closed tab or a lost network loses nothing; sent in order, again until it is answered.
"use strict";

class Outbox {
  static ROOT = "reeljudge/";
  static COUNTER = "presses"; // the name of the number of the last press, beside the entries
  static MARKS = "later"; // and that of the places to look at again, of which no server is told
  static NOTE = "note"; // and that of her note to herself
  static KNOWN = "known"; // and that of what the server has acknowledged, for a page from before
  static ENTRY = /\/\d{10}-[^/]*$/; // what is no entry says nothing that the server lacks
  static SUBMIT = "submit"; // what goes last, once all else is acknowledged

  // `fence` is null where the page did not get one: then the assignment is taken up again first. `presses` is the
  // number of the last press that the server knows of. `version` is that of the page and its scripts.
  constructor({ who, token, fence, presses = 0, address, csrf, version, changed, undo, overtaken, renewed }) {
    Object.assign(this, { who, token, fence, presses, address, csrf, version, changed, undo, overtaken, renewed });
    this.loaded = presses; // that the page knew of
    this.prefix = `${Outbox.ROOT}${encodeURIComponent(who)}/${token}/`;
    this.counter = `${this.prefix}${Outbox.COUNTER}`;
    this.marks = `${this.prefix}${Outbox.MARKS}`;
    this.note = `${this.prefix}${Outbox.NOTE}`;
    this.known = `${this.prefix}${Outbox.KNOWN}`;
    this.memory = new Map(); // where storage is full or forbidden
    this.state = "saved"; // saved, sending, offline, signed out, another, closed, busy, newer, stale, refused
    this.refusal = "";
    this.user = ""; // who is signed in instead
    this.trouble = ""; // what stood in the way since all was saved last: waited, resumed
    this.sent = 0; // since then
    this.wait = 0;
    this.working = false;
    this.living = new AbortController();
    const { signal } = this.living;
    window.addEventListener("online", () => this.send(), { signal });
    window.addEventListener("beforeunload", (event) => this.memory.size && event.preventDefault(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.send(), { signal });
  }

  // The batch is submitted: nothing is kept of it any more, and nothing sent.
  close() {
    this.forget();
    this.living.abort();
  }

  // The tokens of all assignments of which this browser keeps something that the person said.
  static kept(who) {
    const root = `${Outbox.ROOT}${encodeURIComponent(who)}/`;
    const names = Object.keys(localStorage).filter((name) => name.startsWith(root));
    return new Set(names.filter((name) => Outbox.ENTRY.test(name)).map((name) => name.slice(root.length).split("/")[0]));
  }

  entries() {
    const found = new Map(this.memory);
    for (const name of Object.keys(localStorage))
      if (name.startsWith(this.prefix) && Outbox.ENTRY.test(name))
        found.set(name, JSON.parse(localStorage.getItem(name)));
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, entry]) => ({ name, ...entry }));
  }

  add(entry) {
    const key = Outbox.uuid();
    const press = this.count();
    const name = `${this.prefix}${String(press).padStart(10, "0")}-${key}`;
    const kept = { ...entry, body: { ...entry.body, key, press } };
    try {
      localStorage.setItem(name, JSON.stringify(kept));
      localStorage.setItem(this.counter, press);
    } catch {
      this.memory.set(name, kept);
    }
    this.wait = 0;
    this.refusal = "";
    this.send();
  }

  // The number of the next press, whichever tab counted last. No clock tells what was said last: clocks are set.
  count() {
    const kept = this.entries().map(({ body }) => body.press);
    this.presses = Math.max(this.presses, Number(localStorage.getItem(this.counter)), ...kept) + 1;
    return this.presses;
  }

  remove(name) {
    localStorage.removeItem(name);
    this.memory.delete(name);
  }

  forget() {
    for (const { name } of this.entries()) this.remove(name);
    for (const name of [this.counter, this.marks, this.note, this.known]) localStorage.removeItem(name);
  }

  get empty() {
    return this.entries().length === 0;
  }

  // Wait until all is acknowledged, for as long as a patient person would; true when it is.
  async drained(patience = 10000) {
    this.send();
    for (const end = Date.now() + patience; !this.empty && Date.now() < end && this.state !== "stale"; )
      await new Promise((resolve) => setTimeout(resolve, 50));
    return this.empty;
  }

  async send() {
    if (this.working || this.state === "stale" || this.living.signal.aborted) return;
    this.working = true;
    clearTimeout(this.timer);
    if (!this.empty) this.tell("sending");
    try {
      // One tab at a time sends what is kept; over plain http, which knows no locks, keys alone keep things single.
      await (navigator.locks ? navigator.locks.request(this.prefix, () => this.sendAll()) : this.sendAll());
    } finally {
      this.working = false;
    }
  }

  async sendAll() {
    if (this.fence === null && !(await this.resume())) return;
    for (let entry; (entry = this.next()); ) {
      this.tell("sending");
      if (!(await this.one(entry))) return;
      this.wait = 0;
    }
    this.tell(this.refusal ? "refused" : "saved");
    this.trouble = "";
    this.sent = 0;
  }

  // Grades and flags go first, in their order: a question that has to wait holds none of them up.
  next() {
    const entries = this.entries();
    return entries.find(Outbox.isPress) || entries.find(({ what }) => what !== Outbox.SUBMIT) || entries[0];
  }

  // Whether an entry is a grade or a flag.
  static isPress = ({ what }) => what !== "questions" && what !== Outbox.SUBMIT;

  // Whether the submission of the batch waits here.
  get isParked() {
    return this.entries().some(({ what }) => what === Outbox.SUBMIT);
  }

  // Send one entry; true when the next may follow.
  async one(entry) {
    const submits = entry.what === Outbox.SUBMIT;
    const address = `${this.address}${entry.what}${submits ? "" : `/${entry.position}`}`;
    const answer = await this.request(entry.method, address, { ...entry.body, fence: this.fence });
    if (!answer) return this.later("offline");
    const said = await answer.json().catch(() => null); // a page of somebody between us, or half an answer
    if (answer.ok && !(submits ? said?.submitted : said?.position === entry.position)) return this.later("offline");
    if (answer.ok) return this.stored(entry, said), true;
    if (answer.status === 401 || answer.status === 403) return this.later("signed out");
    if (answer.status === 404) return this.later(this.isOfAnother(said) ? "another" : "closed"); // or paused: keep it
    const returns = entry.what === "questions" && this.undo; // to the form, whose words can be sent later
    if (answer.status >= 500 || (answer.status === 429 && !returns)) return this.later("offline");
    if (said?.code === "stale") return this.resume();
    if (this.isOfAnotherVersion(answer)) return this.later("newer"); // the page of that version can say it better
    this.remove(entry.name);
    this.refusal = said?.detail || `${answer.status}`;
    this.undo?.(entry);
    return true;
  }

  // The server has it. Another browser may have said something later, which holds: the next press here is later still.
  stored(entry, { overtaken }) {
    this.remove(entry.name);
    this.sent += 1;
    if (entry.what === Outbox.SUBMIT) return this.forget();
    if (Outbox.isPress(entry)) this.remember(entry);
    if (!overtaken) return;
    this.presses = Math.max(this.presses, overtaken);
    this.overtaken?.(entry);
  }

  // What the server knows, and a page does not that was loaded before and is shown again without a network.
  remember({ method, what, position, body }) {
    const kept = JSON.parse(localStorage.getItem(this.known) || "{}");
    kept[position] = { method, what, position, body };
    try {
      localStorage.setItem(this.known, JSON.stringify(kept));
    } catch {} // storage is full or forbidden
  }

  remembered() {
    const kept = Object.values(JSON.parse(localStorage.getItem(this.known) || "{}"));
    return kept.filter(({ body }) => body.press > this.loaded);
  }

  // The lease ran out: if our place is still free we go on with a new fence, else what is unsent is stale.
  async resume() {
    const answer = await this.request("POST", `${this.address}resume`);
    const said = answer && (await answer.json().catch(() => null));
    if (said?.code === "stale") return this.tell("stale"), false;
    if (said?.code === "wrongstate") return this.later("busy");
    if (answer?.status === 404) return this.later(this.isOfAnother(said) ? "another" : "closed");
    if (!answer?.ok || !said || said.fence === this.fence) return this.later("offline");
    this.fence = said.fence;
    this.trouble = "resumed";
    return true;
  }

  // Somebody else is signed in in this browser meanwhile.
  isOfAnother(problem) {
    this.user = problem?.user || "";
    return this.user !== "" && this.user !== this.who;
  }

  // Servers are exchanged while people judge: the one that answers may be newer than the page, or older.
  isOfAnotherVersion(answer) {
    const version = answer.headers.get("Reeljudge-Version");
    return Boolean(this.version && version) && version !== this.version;
  }

  later(state) {
    this.trouble ||= "waited";
    this.tell(state);
    this.wait = Math.min(15, this.wait ? this.wait * 2 : 1);
    this.timer = setTimeout(() => this.send(), this.wait * 1000);
    return false;
  }

  tell(state) {
    this.state = state;
    this.changed(this);
  }

  async request(method, address, body) {
    // Signing in again changes the token: the cookie has the present one.
    const [, token] = document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/) || [null, this.csrf];
    const options = {
      method,
      redirect: "error",
      headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(20000),
    };
    try {
      const answer = await fetch(address, options);
      if (this.isOfAnotherVersion(answer)) this.renewed?.();
      return answer;
    } catch {
      return null;
    }
  }

  static uuid() {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // plain http on a local network has no randomUUID
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
}
