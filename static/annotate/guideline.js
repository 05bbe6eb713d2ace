// Clips among words play while they are in sight, and their controls stop them; where less motion is asked for, the
// controls start them. The guideline slides in from the side and leaves what is judged playing.
"use strict";

(() => {
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const play = ({ target, isIntersecting }) => (isIntersecting ? target.play().catch(() => {}) : target.pause());
    const inSight = new IntersectionObserver((seen) => seen.forEach(play), { threshold: 0.5 });
    for (const video of document.querySelectorAll("video.still")) inSight.observe(video);
  }

  const panel = document.getElementById("guideline");
  if (!panel) return;
  const help = document.getElementById("help");
  let before = null; // what had the focus when it was opened

  function show(wanted) {
    if (wanted === !panel.hidden) return;
    const inside = panel.contains(document.activeElement);
    if (wanted) before = document.activeElement;
    panel.hidden = !wanted;
    help.setAttribute("aria-expanded", String(wanted));
    for (const video of panel.querySelectorAll("video")) video.preload = "metadata"; // and not before it is read
    if (wanted) panel.focus();
    else if (inside) (before === document.body ? document.querySelector("main") : before).focus();
  }

  // An entry in the browser's history, so that Back closes the guideline and leaves what is judged in sight.
  function open(wanted = panel.hidden) {
    if (wanted === !panel.hidden) return;
    show(wanted);
    if (wanted) history.pushState({ guideline: true }, "");
    else if (history.state?.guideline) history.back();
  }

  window.addEventListener("popstate", ({ state }) => show(Boolean(state?.guideline)));
  show(Boolean(history.state?.guideline)); // when the page is loaded again
  help.addEventListener("click", (event) => (event.preventDefault(), open())); // without a script it is a link
  document.getElementById("close-guideline").addEventListener("click", () => open(false));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
    if (event.key === "?") open();
    if (event.key === "Escape") open(false);
  });
})();
