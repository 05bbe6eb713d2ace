// On the annotator's home: loads the batches of an evening, and says how many are here.
"use strict";

(() => {
  const forms = document.querySelectorAll("form.ahead");
  const held = new Set([...forms].flatMap(({ dataset }) => dataset.held.split(" ")));

  ahead.forget((address) => !held.has(ahead.token(address))).then(show);
  for (const form of forms) form.addEventListener("submit", (event) => (event.preventDefault(), load(form)));

  // Only a browser with a service worker shows a page without a network.
  async function show() {
    await navigator.serviceWorker?.ready;
    const here = (await ahead.pages()).map(ahead.token);
    for (const form of forms) {
      const n = here.filter((token) => form.dataset.held.split(" ").includes(token)).length;
      form.hidden = false;
      if (n) say(form, "ahead kept", { n });
    }
  }

  const say = (form, name, values) => (form.querySelector("[role=status]").textContent = word(name, values));

  async function load(form) {
    const button = form.querySelector("button");
    button.disabled = true;
    say(form, "ahead asks");
    let [n, all] = [0, 0];
    try {
      const headers = { Accept: "application/json" };
      const answer = await fetch(form.action, { method: "POST", headers, body: new FormData(form), redirect: "error" });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const { batches, until } = await answer.json();
      const clips = batches.flatMap((batch) => batch.clips);
      all = clips.length;
      for (const { address } of batches) await ahead.keep(address);
      for (const clip of clips) {
        say(form, "ahead loads", { n: n++, all });
        await ahead.keep(clip);
      }
      const time = new Date(until).toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });
      say(form, all ? "ahead loaded" : "ahead none", { n: batches.length, all, time });
    } catch {
      say(form, "ahead broke", { n: Math.max(0, n - 1), all });
    }
    button.disabled = false;
  }
})();
