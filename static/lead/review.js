// The lead's pages: each element with data-key is clicked by one of its keys; clips load when they come into view.
"use strict";

document.addEventListener("keydown", (event) => {
  const typing = "input:not([type=radio]), select, textarea";
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches(typing)) return;
  if (event.key === "Enter" && event.target.matches("a, button, summary, input")) return;
  const wanted = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
  if (!wanted) return;
  event.preventDefault();
  wanted.click();
});

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
