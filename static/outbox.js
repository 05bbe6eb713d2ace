// What the annotator said and the server has not acknowledged yet. Kept in the browser's storage, one entry a
// press, so that a closed tab or a lost network loses nothing; sent in order, again until it is answered.
"use strict";

class Outbox {
  constructor({ token, fence, address, csrf, changed, undo }) {
    Object.assign(this, { token, fence, address, csrf, changed, undo });
    this.prefix = `reeljudge/${token}/`;
    this.memory = new Map(); // where storage is full or forbidden
    this.state = "saved"; // saved, sending, offline, signed out, closed, stale, refused
    this.refusal = "";
    this.wait = 0;
    this.busy = false;
    window.addEventListener("online", () => this.send());
    document.addEventListener("visibilitychange", () => document.hidden || this.send());
  }

  entries() {
    const found = new Map(this.memory);
    for (let i = 0; i < localStorage.length; i++) {
      const name = localStorage.key(i);
      if (name.startsWith(this.prefix)) found.set(name, JSON.parse(localStorage.getItem(name)));
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, entry]) => ({ name, ...entry }));
  }

  add(entry) {
    const key = Outbox.uuid();
    const name = `${this.prefix}${String(Date.now()).padStart(15, "0")}-${key}`;
    const kept = { ...entry, body: { ...entry.body, key } };
    try {
      localStorage.setItem(name, JSON.stringify(kept));
    } catch {
      this.memory.set(name, kept);
    }
    this.wait = 0;
    this.refusal = "";
    this.send();
  }

  remove(name) {
    localStorage.removeItem(name);
    this.memory.delete(name);
  }

  get empty() {
    return this.entries().length === 0;
  }

  // Wait until all is acknowledged, for as long as a patient person would; true when it is.
  async drained() {
    this.send();
    for (const end = Date.now() + 10000; !this.empty && Date.now() < end && this.state !== "stale"; )
      await new Promise((resolve) => setTimeout(resolve, 50));
    return this.empty;
  }

  async send() {
    if (this.busy || this.state === "stale") return;
    this.busy = true;
    clearTimeout(this.timer);
    try {
      for (let entry; (entry = this.entries()[0]); ) {
        this.tell("sending");
        if (!(await this.one(entry))) return;
        this.wait = 0;
      }
      this.tell(this.refusal ? "refused" : "saved");
    } finally {
      this.busy = false;
    }
  }

  // Send one entry; true when the next may follow.
  async one(entry) {
    const answer = await this.request("PUT", `${this.address}${entry.what}/${entry.position}`, {
      ...entry.body,
      fence: this.fence,
    });
    if (!answer) return this.later("offline");
    if (answer.ok) return this.remove(entry.name), true;
    if (answer.status === 401 || answer.status === 403) return this.later("signed out");
    if (answer.status === 404) return this.later("closed"); // paused, or somebody else is signed in: keep it
    if (answer.status >= 500 || answer.status === 429) return this.later("offline");
    const problem = await answer.json().catch(() => ({}));
    if (problem.code === "stale") return this.resume();
    this.remove(entry.name);
    this.refusal = `Not stored: ${problem.detail || `the server answered ${answer.status}`}.`;
    this.undo(entry);
    return true;
  }

  // The lease ran out: if our place is still free we go on with a new fence, else what is unsent is stale.
  async resume() {
    const answer = await this.request("POST", `${this.address}resume`);
    if (answer && (answer.status === 409 || answer.status === 404)) return this.tell("stale"), false;
    if (!answer || !answer.ok) return this.later("offline");
    const { fence } = await answer.json();
    if (fence === this.fence) return this.later("offline");
    this.fence = fence;
    return true;
  }

  later(state) {
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
    const [, token] = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/) || [null, this.csrf];
    const options = {
      method,
      redirect: "error",
      headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(20000),
    };
    try {
      return await fetch(address, options);
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
