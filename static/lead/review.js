// The lead's pages: each element with data-key is clicked by one of its keys; clips load when they come into view.
"use strict";

// The recommended verdict has the focus, so that Enter gives it. Enter gives no other verdict, and Space, which scrolls,
// none at all until the reader moves the focus.
const recommended = document.querySelector("[data-recommended]");
let moved = !recommended;
recommended?.focus({ preventScroll: true });

document.addEventListener("keydown", (event) => {
  moved ||= event.key === "Tab";
  if (event.key === "Enter" && recommended && event.target !== recommended && event.target.matches("[data-verdict]"))
    event.preventDefault();
  const typing = "input:not([type=radio]), select, textarea";
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches(typing)) return;
  const wanted = document.querySelector(`[data-key~="${CSS.escape(named(event))}"]`);
  if (!wanted) return;
  event.preventDefault();
  wanted.click();
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

const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      target.preload = "metadata";
      target.src = target.dataset.src;
      seen.unobserve(target);
    }
  },
  { rootMargin: "200px" },
);

for (const clip of document.querySelectorAll("video[data-src]")) {
  const play = () => clip.play().catch(() => {}); // left again before it had loaded
  const rest = () => {
    if (clip.matches(":hover, :focus")) return;
    clip.pause();
    clip.currentTime = 0;
  };
  for (const event of ["pointerenter", "focus"]) clip.addEventListener(event, play);
  for (const event of ["pointerleave", "blur"]) clip.addEventListener(event, rest);
  seen.observe(clip);
}
