// The tutorial: the workplace's keys on its pages. Each step and each answer is a page of its own.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const clip = $("clip");
  const guideline = $("guideline");

  function pause() {
    if (clip.paused) clip.play().catch(() => {});
    else clip.pause();
  }

  function openGuideline(open) {
    guideline.hidden = !open;
    (open ? $("close-guideline") : $("help")).focus();
  }

  const keys = {};
  if (clip) {
    keys[" "] = pause;
    $("pause").hidden = false;
    $("pause").addEventListener("click", pause);
    clip.addEventListener("timeupdate", () => ($("time").value = clip.currentTime / (clip.duration || 1)));
  }
  if (guideline) {
    keys["?"] = () => openGuideline(guideline.hidden);
    keys.Escape = () => guideline.hidden || openGuideline(false);
    $("help").addEventListener("click", (event) => (event.preventDefault(), openGuideline(guideline.hidden)));
    $("close-guideline").addEventListener("click", () => openGuideline(false));
  }

  // A clip among words plays while it is in sight, and its controls stop it; where less motion is asked for, they start it.
  if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const inSight = new IntersectionObserver(
      (seen) => seen.forEach(({ target, isIntersecting }) => (isIntersecting ? target.play().catch(() => {}) : target.pause())),
      { threshold: 0.6 },
    );
    for (const video of document.querySelectorAll(".tutorial video.still")) inSight.observe(video);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const own = event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter");
    if (own) return;
    const key = event.key.length > 1 ? event.key : event.key.toLowerCase(); // Caps Lock changes nothing
    const wanted = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (keys[key]) keys[key]();
    else if (wanted) wanted.click();
    else return;
    event.preventDefault();
  });
})();
