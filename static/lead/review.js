// The lead's pages: each element with data-key is clicked by one of its keys; clips load when they come into view.
// On a batch's page, the next batch to review is loaded meanwhile, and a verdict is stored behind it (below).
"use strict";

const TYPING = "input:not([type=radio]), select, textarea";
let recommended = null;
let moved = true; // whether the reader has moved the focus

document.addEventListener("keydown", (event) => {
  moved ||= event.key === "Tab";
  if (event.key === "Enter" && recommended && event.target !== recommended && event.target.matches("[data-verdict]"))
    event.preventDefault();
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches(TYPING)) return;
  const wanted = document.querySelector(`[data-key~="${CSS.escape(named(event))}"]`);
  if (!wanted) return;
  event.preventDefault();
  wanted.click();
  if (wanted.matches("summary")) wanted.scrollIntoView({ block: wanted.parentElement.open ? "start" : "end" });
});

document.addEventListener("keyup", (event) => {
  if (event.key === " " && !moved && event.target === recommended) event.preventDefault();
});

// The name of a key, whatever Shift, Caps Lock and the keyboard's layout make of it.
function named(event) {
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit) return digit[1];
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

for (const button of document.querySelectorAll("[data-all]"))
  button.addEventListener("click", (event) => {
    event.preventDefault();
    for (const box of button.form.elements) if (box.name === button.dataset.all) box.checked = true;
  });

for (const field of document.querySelectorAll("[data-submits]"))
  field.addEventListener("change", () => field.form.requestSubmit());

// Clips: some play by themselves while they are in view, unless the reader wants nothing to move; the others while they
// have the pointer or the focus.
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
let stopped = false;

const moves = (clip) => "plays" in clip.dataset && !calm.matches && !stopped;
const play = (clip) => clip.play().catch(() => {}); // left again before it had loaded

const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !target.src) fill(target, "metadata");
      if (isIntersecting && moves(target)) play(target);
      else if (!isIntersecting) target.pause();
    }
  },
  { rootMargin: "200px" },
);

function fill(clip, preload) {
  clip.preload = preload;
  clip.src = clip.dataset.src;
}

function rest(clip) {
  if (moves(clip) || clip.matches(":hover, :focus")) return;
  clip.pause();
  clip.currentTime = 0;
}

// What a page needs, and each picture that takes its place. Enter gives the recommended verdict, which has the focus. It
// gives no other verdict, and Space, which scrolls, none at all until the reader moves the focus.
function enliven() {
  recommended = document.querySelector("[data-recommended]");
  moved = !recommended;
  recommended?.focus({ preventScroll: true });
  seen.disconnect();
  for (const clip of document.querySelectorAll("video[data-src]")) {
    for (const event of ["pointerenter", "focus"]) clip.addEventListener(event, () => play(clip));
    for (const event of ["pointerleave", "blur"]) clip.addEventListener(event, () => rest(clip));
    seen.observe(clip);
  }
  for (const button of document.querySelectorAll("[data-still]")) {
    button.hidden = calm.matches;
    button.firstChild.textContent = stopped ? "Play the clips" : "Stop the clips";
    button.onclick = () => {
      stopped = !stopped;
      button.firstChild.textContent = stopped ? "Play the clips" : "Stop the clips";
      for (const clip of document.querySelectorAll("video[data-plays]")) if (moves(clip)) play(clip); else clip.pause();
    };
  }
}

// The large player over the contact sheet: a click or Space on a clip opens it, the arrows go through the ranks, Escape and
// Space close it. On a narrow screen it is open from the start.
(() => {
  const item = (rank) => document.querySelector(`.posters [data-rank="${rank}"]`);
  const present = () => Number(document.querySelector(".large:not([hidden])")?.dataset.at ?? 0);
  const narrow = window.matchMedia("(max-width: 800px)");

  function close() {
    const large = document.querySelector(".large");
    const from = item(large.dataset.at)?.querySelector("video");
    large.hidden = true;
    large.replaceChildren();
    from?.focus({ preventScroll: true });
  }

  function open(rank) {
    const [large, from, row] = [document.querySelector(".large"), item(rank)?.querySelector("video"), document.getElementById(`rank-${rank}`)];
    if (!large || !from) return;
    const [video, words, end] = ["video", "div", "button"].map((name) => document.createElement(name));
    Object.assign(video, { src: from.dataset.src, muted: true, loop: true, controls: true, playsInline: true });
    const voices = row.querySelector(".voices").cloneNode(true);
    words.append(`Rank ${rank}: ${row.cells[1].textContent.trim()}`, end, voices);
    Object.assign(end, { type: "button", className: "link", textContent: "Close Esc", onclick: close });
    large.replaceChildren(video, words);
    large.dataset.at = rank;
    large.hidden = false;
    play(video);
  }

  document.addEventListener("click", ({ target }) => {
    const clip = target.closest(".posters [data-rank]");
    if (clip && target.matches("video")) open(clip.dataset.rank);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(TYPING)) return;
    const clip = event.target.closest(".posters [data-rank]");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (present() && !narrow.matches && (event.key === "Escape" || event.key === " ")) close();
    else if (present() && !narrow.matches && step) open(present() + step);
    else if (clip && event.target.matches("video") && event.key === " ") open(clip.dataset.rank);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, { capture: true });
  const first = () => narrow.matches && open(document.querySelector(".posters [data-rank]")?.dataset.rank);
  document.addEventListener("swapped", first);
  first();
})();

// A batch's page. What was done goes to the server one after the other, again until it is answered; then the page that
// stands here is asked for once more, so that nothing stays of what was loaded ahead and has changed. Without this
// script each link loads a page, and each form posts and leads on.
(() => {
  if (!document.querySelector(".cockpit")) return;

  const LONGEST = 15; // seconds between two tries
  const notes = document.createElement("div"); // this script's own, which go along from batch to batch
  const waiting = []; // verdicts, and what is to be undone, in their order
  const given = new Set(); // addresses of the batches that have got a verdict here
  const refused = [];
  let here = window.location.pathname;
  let words = wording(document.querySelector("main"));
  let ahead = null; // the next batch: its address, and a promise of its page
  let turn = 0; // of the last way to another batch
  let working = null;
  let stale = false;
  let trouble = "";
  let wait = 0;
  let timer = 0;

  notes.setAttribute("role", "status");

  // All that a page says of its batch, without what other batches and the session change.
  function wording(main) {
    const copy = main.cloneNode(true);
    const others = copy.querySelectorAll("[data-live], [name=csrfmiddlewaretoken], .message[role=status]");
    for (const each of others) each.remove();
    for (const each of copy.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");
    return copy.innerHTML;
  }

  // Loading and showing -----------------------------------------------------------------------------------

  async function load(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(20000) });
    if (answer.status >= 500) throw new Error("busy");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.querySelector("main");
    if (!main?.querySelector(".cockpit")) return null; // signed out, or gone
    return { address, title: page.title, words: wording(main), main: document.adoptNode(main) };
  }

  const link = (way) => document.querySelector(`.in-line a[rel=${way}]`)?.getAttribute("href");

  function loadAhead() {
    const next = link("next");
    if (!next || given.has(next)) ahead = null;
    else if (ahead?.address !== next) ahead = { address: next, page: load(next).then(warmed, () => null) };
  }

  function warmed(page) {
    for (const clip of page?.main.querySelectorAll("video[data-plays]") ?? []) fill(clip, "auto");
    return page && { ...page, isAhead: true };
  }

  // Go to a batch; a page that is none is loaded as usual.
  async function go(address, { push = true } = {}) {
    const own = ++turn;
    let page = ahead?.address === address ? await ahead.page : null;
    try {
      page ??= await load(address);
    } catch {
      if (own === turn) say("This batch could not be loaded. Try again.");
      return;
    }
    if (own !== turn) return;
    if (!page) return window.location.assign(address);
    say("");
    if (push && address !== here) window.history.pushState(null, "", address);
    show(page);
    window.scrollTo(0, 0);
    if (page.isAhead) work();
  }

  function show(page) {
    const main = document.querySelector("main");
    page.main.querySelector(".voices-fold").open = main.querySelector(".voices-fold").open;
    noted(page.main);
    main.replaceWith(page.main);
    document.title = page.title;
    [here, words, ahead] = [page.address, page.words, ahead?.address === page.address ? null : ahead];
    enliven();
    if (!recommended) page.main.querySelector("h1").focus({ preventScroll: true });
    document.dispatchEvent(new Event("swapped"));
    loadAhead();
  }

  function noted(main) {
    if (waiting.length) main.querySelector(".notes .done")?.remove(); // it knows nothing of these yet
    main.querySelector(".notes").append(notes);
  }

  // Bring the batch that stands here up to date, in place.
  async function refresh() {
    const [address, page] = [here, await load(here)];
    if (address !== here || !page) return;
    const reason = document.querySelector("[name=reason]")?.value;
    if (page.words !== words) {
      if (document.activeElement?.matches(TYPING)) return say("This batch has changed. Load the page again to see how.");
      show(page);
      const field = document.querySelector("[data-verdict]")?.form.elements.reason;
      if (field && reason) field.value = reason;
      return;
    }
    noted(page.main);
    const fresh = page.main.querySelectorAll("[data-live]");
    for (const [number, old] of document.querySelectorAll("[data-live]").entries()) old.replaceWith(fresh[number]);
    loadAhead();
  }

  // What waits for the server -----------------------------------------------------------------------------

  function work() {
    stale = true;
    clearTimeout(timer);
    working ??= worked();
  }

  async function worked() {
    try {
      while (stale || waiting.length) {
        while (waiting.length) {
          await waiting[0].send();
          waiting.shift();
          list();
        }
        stale = false;
        await refresh();
        [trouble, wait] = ["", 0];
      }
    } catch (fault) {
      trouble = fault.message === "signed out" ? "You are signed out. Sign in in another tab" : "The server cannot be reached";
      wait = Math.min(LONGEST, wait * 2 || 1);
      stale = true;
      timer = setTimeout(work, wait * 1000);
    } finally {
      working = null;
      list();
    }
  }

  // Returns what the server answers, or null if it refuses, which is noted with the way back.
  async function post(address, body, { back, what }) {
    const [, token] = document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/) ?? [];
    if (token) body.set("csrfmiddlewaretoken", token);
    const headers = { Accept: "application/json" };
    const options = { method: "POST", body, headers, redirect: "manual", signal: AbortSignal.timeout(20000) };
    const answer = await fetch(address, { ...options, keepalive: true }); // who leaves all the same loses nothing on its way
    if (answer.type === "opaqueredirect") throw new Error("signed out");
    if (answer.status >= 500 || answer.status === 429) throw new Error("busy");
    const read = await answer.json().catch(() => ({}));
    if (answer.ok) return read;
    refused.push({ back, text: `${what}: not stored. ${read.detail ?? ""}` });
    return null;
  }

  function enqueue(entry) {
    waiting.push(entry);
    document.querySelector(".notes .done")?.remove();
    for (const each of document.querySelectorAll("[data-undo] [data-key]")) delete each.dataset.key;
    list();
    work();
  }

  async function give(form, button) {
    if (waiting.some((each) => each.isUndoing || each.back === here)) return;
    const [back, body] = [here, new URLSearchParams(new FormData(form, button))];
    const what = `${button.firstChild.textContent.trim()}, “${document.querySelector("h1").textContent}”`;
    let answered = null;
    let isLast = false;
    const entry = { what, back, send };
    given.add(back);
    for (const each of form.querySelectorAll("[data-verdict]")) each.disabled = true;
    enqueue(entry);
    const next = link("next");
    const own = turn;
    if (next && !given.has(next) && (await ahead?.page) && own === turn) return go(next);
    isLast = own === turn;
    if (answered && isLast) leave();

    async function send() {
      answered = await post(form.action, body, { back, what });
      if (answered && isLast) return leave();
      if (answered) return;
      entry.isRefused = true;
      given.delete(back);
      if (here === back) words = ""; // its buttons come again
    }

    // Nothing was loaded that comes next: the server says what it is.
    function leave() {
      if (waiting.some((each) => each !== entry)) return; // an undo, which leads back
      if (/\/batches\//.test(answered.address)) return void go(answered.address.replace(/\?.*/, ""));
      window.removeEventListener("beforeunload", warn);
      window.location.assign(answered.address);
    }
  }

  function undo(form) {
    let body = form && new URLSearchParams(new FormData(form));
    let [address, back] = [form?.action, form?.dataset.undo];
    const before = waiting.at(-1);
    const send = async () => {
      if (!form && before?.isRefused) return; // nothing was stored that could be undone
      if (!body) { // what was done last is stored now, and the server knows what can be undone
        const page = await load(here);
        if (!page) throw new Error("signed out");
        const last = page.main.querySelector("[data-undo] [data-key~=u]")?.form;
        if (!last) return say("Nothing is left that can be undone.");
        [body, address, back] = [new URLSearchParams(new FormData(last)), last.action, last.dataset.undo];
      }
      words = "";
      if (!(await post(address, body, { back, what: "Undoing" }))) return;
      given.delete(back);
      await go(back);
      say("Undone: this batch is to be reviewed again.");
    };
    enqueue({ what: "Undoing", send, isUndoing: true });
  }

  // Notes -------------------------------------------------------------------------------------------------

  let sentence = "";

  function say(text) {
    sentence = text;
    list();
  }

  function list() {
    notes.replaceChildren(...refused.map((each) => line("message", each.text, away(each))));
    if (sentence) notes.prepend(line("quiet", sentence));
    const last = waiting.at(-1);
    if (!last) return;
    const others = waiting.length > 1 ? `, and ${waiting.length - 1} before it` : "";
    const state = trouble ? `not stored yet${others}. ${trouble}: it is sent again` : `being stored${others}`;
    notes.prepend(line("message done", `${last.what}: ${state}.`, undoes()));
  }

  function line(kind, text, ...more) {
    const made = document.createElement("p");
    made.className = kind;
    made.append(text, " ", ...more);
    return made;
  }

  function away(refusal) {
    const made = document.createElement("a");
    made.href = refusal.back;
    made.textContent = "Back to it";
    made.addEventListener("click", () => refused.splice(refused.indexOf(refusal), 1));
    return made;
  }

  function undoes() {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "link";
    made.dataset.key = "u";
    made.innerHTML = "Undo <kbd>u</kbd>";
    made.addEventListener("click", () => undo(null));
    return made;
  }

  // What the reader does ----------------------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (submitter?.matches("[data-verdict]")) give(form, submitter);
    else if (form.matches("[data-undo]")) undo(form);
    else return;
    event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    if (named(event) !== "u" || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (!event.target.matches(TYPING) && !document.querySelector("[data-key~=u]")) undo(null);
  });

  document.addEventListener("click", (event) => {
    const way = event.target.closest(".in-line a[rel], .notes a");
    if (!way || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(way.getAttribute("href"));
  });

  function warn(event) {
    if (waiting.length) event.preventDefault();
  }

  window.addEventListener("beforeunload", warn);
  window.addEventListener("online", () => wait && work());
  window.addEventListener("popstate", () => {
    const address = window.location.pathname;
    if (address !== here) go(address, { push: false });
  });

  document.querySelector(".notes").append(notes);
  loadAhead();
})();

enliven();
