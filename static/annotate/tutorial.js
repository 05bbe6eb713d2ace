// The tutorial: the workplace's keys on its pages. Each step and each answer is a page of its own.
"use strict";

(() => {
  const clip = document.getElementById("clip");
  const button = document.getElementById("pause");

  function pause() {
    if (clip.paused) clip.play().catch(() => {});
    else clip.pause();
  }

  if (clip) {
    button.hidden = false;
    button.addEventListener("click", pause);
    const time = document.getElementById("time");
    clip.addEventListener("timeupdate", () => (time.value = clip.currentTime / (clip.duration || 1)));
  }

  document.addEventListener("keydown", (event) => {
    if (event.repeat) return;
    const own = event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter");
    if (own) return;
    const wanted = document.querySelector(`[data-key="${CSS.escape(keyOf(event))}"]`);
    if (!wanted) return;
    event.preventDefault();
    wanted.click();
  });
})();
