// The active seconds of practice go along with the answer; those of reading an answer go along with the next one.
"use strict";

(() => {
  const READING = "reeljudge practice"; // seconds
  const timer = new ActiveTime();
  const answer = document.getElementById("practice");

  for (const kind of ["keydown", "pointermove", "pointerdown", "wheel", "touchstart"])
    document.addEventListener(kind, () => timer.sign(), { capture: true, passive: true });
  document.addEventListener("visibilitychange", () => (document.hidden ? timer.hide() : timer.show()));
  if (document.hidden) timer.hide();

  answer?.addEventListener("submit", () => {
    const reading = Number(sessionStorage.getItem(READING));
    sessionStorage.removeItem(READING);
    answer.elements.seconds.value = (timer.take() + reading).toFixed(3);
  });
  document.getElementById("onward")?.addEventListener("submit", () => {
    sessionStorage.setItem(READING, timer.take());
  });
})();
