// Clips among words play while they are in sight, and their controls stop them; where less motion is asked for, the
// controls start them. The card behind ? lies beside what is judged, which goes on playing. It closes by its button,
// Escape, Back, and a click beside it that is for nothing else.
"use strict";

(() => {
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const play = ({ target, isIntersecting }) => (isIntersecting ? target.play().catch(() => {}) : target.pause());
    const inSight = new IntersectionObserver((seen) => seen.forEach(play), { threshold: 0.5 });
    for (const video of document.querySelectorAll("video.still")) inSight.observe(video);
  }

  const card = document.getElementById("guideline");
  if (!card) return;
  const help = document.getElementById("help");
  let before = null; // what had the focus when it was opened

  function show(wanted) {
    if (wanted === !card.hidden) return;
    const inside = card.contains(document.activeElement);
    if (wanted) before = document.activeElement;
    card.hidden = !wanted;
    help.setAttribute("aria-expanded", String(wanted));
    if (wanted) card.focus();
    else if (inside) (before === document.body ? document.querySelector("main") : before).focus();
  }

  // An entry in the browser's history, so that Back closes the card and leaves what is judged in sight.
  function open(wanted = card.hidden) {
    if (wanted === !card.hidden) return;
    show(wanted);
    if (wanted) history.pushState({ guideline: true }, "");
    else if (history.state?.guideline) history.back();
  }

  function clickBeside(event) {
    if (card.hidden || event.target.closest("#guideline, button, a, input, label, .seek")) return;
    event.stopPropagation(); // the clip below goes on playing
    open(false);
  }

  window.addEventListener("popstate", ({ state }) => show(Boolean(state?.guideline)));
  show(Boolean(history.state?.guideline)); // when the page is loaded again
  help.addEventListener("click", (event) => (event.preventDefault(), open())); // without a script it is a link
  document.getElementById("close-guideline").addEventListener("click", () => open(false));
  document.addEventListener("click", clickBeside, { capture: true });
  for (const folded of card.querySelectorAll("details"))
    folded.addEventListener("toggle", () => {
      for (const video of folded.querySelectorAll("video")) video.preload = "metadata"; // and not before it is read
      if (folded.open && folded.querySelector("video")) folded.scrollIntoView();
    });
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.target.matches("input")) return;
    const key = keyOf(event);
    if (key === help.dataset.opens) event.preventDefault(), open();
    if (key === "Escape") open(false);
  });
})();
