// The guideline slides in from the side and leaves the clip playing; its examples play while they are in sight, or,
// where less motion is asked for, when their controls start them.
"use strict";

(() => {
  const panel = document.getElementById("guideline");
  const help = document.getElementById("help");
  const insight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting) target.play().catch(() => {});
      else target.pause();
  });
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const video of panel.querySelectorAll("video")) {
    video.muted = true;
    if (!calm) insight.observe(video);
  }

  let before = null; // what had the focus when it was opened

  function open(wanted = panel.hidden) {
    if (wanted === !panel.hidden) return;
    const inside = panel.contains(document.activeElement);
    if (wanted) before = document.activeElement;
    panel.hidden = !wanted;
    help.setAttribute("aria-expanded", String(wanted));
    if (wanted) panel.focus();
    else if (inside) (before === document.body ? document.querySelector("main") : before).focus();
  }

  help.addEventListener("click", () => open());
  document.getElementById("close-guideline").addEventListener("click", () => open(false));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
    if (event.key === "?") open();
    if (event.key === "Escape") open(false);
  });
})();
