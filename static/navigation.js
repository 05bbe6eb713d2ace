// The header of a campaign's pages: g and a letter opens a page, / finds, a menu closes when one clicks elsewhere.
"use strict";

(() => {
  const TYPING = "input:not([type=checkbox], [type=radio], [type=button]), select, textarea, [contenteditable]";
  const PAUSE = 1500; // milliseconds in which the letter follows g
  const opener = document.querySelector("[data-find-open]");
  let since = -Infinity;

  // Before the keys of the page: after g, its letter is not one of theirs.
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches(TYPING)) return;
      if (event.key === "Escape") return close();
      const letter = event.key.toLowerCase();
      const there = event.timeStamp - since < PAUSE && document.querySelector(`[data-go="${CSS.escape(letter)}"]`);
      since = letter === "g" ? event.timeStamp : -Infinity;
      if (there) there.click();
      else if (event.key === "/" && opener) find();
      else if (letter !== "g" || !document.querySelector("[data-go]")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    true,
  );

  function close(except) {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
  }
  document.addEventListener("click", (event) => close(event.target.closest("details.menu")));

  opener?.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    find();
  });

  // The page of what is found, in a dialog: it is asked for while one types.
  let dialog = null;
  function find() {
    dialog ??= made();
    dialog.showModal();
    dialog.querySelector("input").select();
  }

  function made() {
    const box = document.createElement("dialog");
    box.className = "finder";
    box.setAttribute("aria-label", "Find");
    box.innerHTML = `<form><label class="hidden" for="finder">Find a query, an annotator or a run</label>
      <input id="finder" name="q" type="search" maxlength="200" autocomplete="off" placeholder="Query, annotator or run"></form><div aria-live="polite"></div>`;
    const [form, found] = box.children;
    form.action = opener.href;
    let asked = 0;
    form.addEventListener("input", async () => {
      const number = ++asked;
      await new Promise((done) => setTimeout(done, 150));
      if (number !== asked) return;
      const answer = await fetch(`${opener.href}?${new URLSearchParams(new FormData(form))}`).catch(() => null);
      if (!answer?.ok || number !== asked) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      found.replaceChildren(...page.querySelectorAll("#found"));
    });
    form.addEventListener("submit", (event) => {
      const first = found.querySelector("a");
      if (!first) return; // the page itself answers
      event.preventDefault();
      first.click();
    });
    box.addEventListener("click", (event) => event.target === box && box.close());
    document.body.append(box);
    return box;
  }
})();
