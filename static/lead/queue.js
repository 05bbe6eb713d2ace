// The captions that wait for a lead: j and k go from one to the next, e edits, Enter accepts.
"use strict";

const items = [...document.querySelectorAll(".waiting > li")];
const asked = items.findIndex((item) => `#${item.id}` === location.hash);
const last = location.hash.startsWith("#waiting-") ? items.length - 1 : 0; // the one that stood last was accepted
let current = asked < 0 ? last : asked;

function mark(place) {
  items[current].removeAttribute("aria-current");
  current = Math.min(Math.max(place, 0), items.length - 1);
  items[current].setAttribute("aria-current", "true");
}

function go(place) {
  mark(place);
  items[current].focus({ preventScroll: true });
  items[current].scrollIntoView({ block: "nearest" });
}

const keys = {
  j: () => go(current + 1),
  k: () => go(current - 1),
  e: () => items[current].querySelector("textarea").focus(),
  Enter: () => items[current].querySelector("form").requestSubmit(),
};

document.addEventListener("keydown", (event) => {
  if (!items.length || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  const writing = event.target.matches("textarea");
  if (writing && event.key === "Escape") return go(current);
  if (writing && (event.key !== "Enter" || event.shiftKey)) return;
  if (!writing && event.target.matches("a, button, summary, input") && event.key === "Enter") return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const [number, item] of items.entries()) item.addEventListener("focusin", () => mark(number));

if (items.length) go(current);
