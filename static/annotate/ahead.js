// Batches that are loaded ahead: their pages, what these need, and all their clips, kept by the browser for an evening
// without a network. The service worker shows the pages then, and the stage takes the clips from here.
"use strict";

const ahead = {
  NAME: "ahead",
  PAGE: /^\/judge\/assignments\/[^/]+\/$/,

  open: () => (window.caches ? caches.open(ahead.NAME) : null),
  token: (address) => address.split("/").at(-2),

  // The names of all entries of outboxes (outbox.js) in this browser.
  unsent: () => Object.keys(localStorage).filter((name) => /^reeljudge\/.*\/\d{10}-/.test(name)),

  async paths() {
    const cache = await ahead.open();
    return cache ? (await cache.keys()).map(({ url }) => new URL(url).pathname) : [];
  },

  // The addresses of the pages, in the order in which they are judged.
  async pages() {
    return (await ahead.paths()).filter((path) => ahead.PAGE.test(path));
  },

  // Those of them that are not done: whose submission does not wait in the outbox of the person.
  async toJudge() {
    const done = ahead.unsent().filter((name) => JSON.parse(localStorage.getItem(name)).what === "submit");
    const tokens = new Set(done.map((name) => name.split("/")[2]));
    return (await ahead.pages()).filter((address) => !tokens.has(ahead.token(address)));
  },

  // Let go of a batch, or of all that are not among those which the person holds.
  async forget(isOver) {
    const cache = await ahead.open();
    const over = (await ahead.pages()).filter(isOver);
    const paths = (await ahead.paths()).filter((path) => over.some((address) => path.startsWith(address)));
    for (const path of paths) await cache.delete(path);
    if (!(await ahead.pages()).length) await window.caches?.delete(ahead.NAME); // with scripts and stylesheets
  },

  // Keep what is at an address, unless it is kept already; from a page, also its scripts and stylesheets.
  async keep(address) {
    const cache = await ahead.open();
    if (!ahead.PAGE.test(address) && (await cache.match(address))) return;
    const answer = await fetch(address, { redirect: "error" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    await cache.put(address, answer.clone());
    if (!ahead.PAGE.test(address)) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const needed of page.querySelectorAll("script[src], link[rel=stylesheet], link[rel=preload]"))
      await ahead.keep(needed.getAttribute("src") || needed.getAttribute("href"));
  },
};
