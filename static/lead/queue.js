// What waits for a lead: captions in a list, or one item of the inbox. j and k go from one to the next, p plays the clip; of the present one, each element with data-press is clicked by that key, or focused if one writes in it.
"use strict";

(() => {
  const items = [...document.querySelectorAll(".waiting > li, [data-item]")];
  const wanted = items.findIndex((item) => `#${item.id}` === location.hash);
  const last = location.hash.startsWith("#waiting-") ? items.length - 1 : 0; // the one that stood last was handled
  let current = wanted < 0 ? last : wanted;
  const WRITING = "textarea, select, input:not([type=radio], [type=checkbox])";

  function mark(place) {
    items[current].removeAttribute("aria-current");
    current = Math.min(Math.max(place, 0), items.length - 1);
    items[current].setAttribute("aria-current", "true");
  }

  function go(place) {
    const link = document.querySelector(`[rel=${place > current ? "next" : "prev"}][href*="item="]`);
    if (link && place !== current) return link.click();
    mark(place);
    items[current].focus({ preventScroll: true });
    if (items.length > 1) items[current].scrollIntoView({ block: "nearest" });
  }

  function play() {
    const clip = items[current].querySelector("video");
    if (clip?.paused) clip.play().catch(() => {}); // it has not loaded yet
    else clip?.pause();
  }

  const keys = { j: () => go(current + 1), k: () => go(current - 1), p: play };

  function press(element) {
    const folded = element.closest("details");
    if (folded) folded.open = true;
    if (element.matches(WRITING)) return element.focus();
    element.click();
    if (element.matches("[type=radio]")) element.form.elements.reason?.focus();
  }

  // While one writes: Escape ends it; Enter sends a text of one line, and Control with Enter any text.
  function write(event) {
    if (event.key === "Escape") return go(current);
    const sends = event.target.matches("[data-line]") ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (event.key !== "Enter" || !sends || !event.target.matches("textarea")) return;
    event.preventDefault();
    const part = event.target.closest("details") ?? event.target.form; // a folded part has a button of its own
    event.target.form.requestSubmit(part.querySelector("button"));
  }

  document.addEventListener("keydown", (event) => {
    if (!items.length || event.repeat || event.isComposing) return;
    if (event.target.matches(WRITING)) return write(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("a, button, summary, input") && event.key === "Enter") return;
    const element = items[current].querySelector(`[data-press="${CSS.escape(event.key)}"]`);
    const act = keys[event.key] ?? (element && (() => press(element)));
    if (!act) return;
    event.preventDefault();
    act();
  });

  for (const chip of document.querySelectorAll("[data-fill]"))
    chip.addEventListener("click", () => {
      const field = chip.form.elements.text;
      [field.value] = [chip.dataset.fill];
      field.focus();
    });

  for (const [number, item] of items.entries()) item.addEventListener("focusin", () => mark(number));

  if (items.length) go(current);
})();
