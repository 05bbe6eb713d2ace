// The pages of a meeting: arrows, Space and the keys of a page go from screen to screen.
"use strict";

const screens = [...document.querySelectorAll(".meeting > section")];
const STEPS = { ArrowDown: 1, ArrowRight: 1, " ": 1, PageDown: 1, ArrowUp: -1, ArrowLeft: -1, PageUp: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in STEPS) || event.target.matches("a, button, summary, input")) return;
  const step = event.key === " " && event.shiftKey ? -1 : STEPS[event.key];
  const here = screens.findLastIndex((each) => each.getBoundingClientRect().top < innerHeight / 2);
  event.preventDefault();
  screens[here + step]?.scrollIntoView();
});
