// Of the groups of settings beside the form, the list marks the one that is being read: the last whose heading has come
// to the upper part of the window.
"use strict";

const links = [...document.querySelectorAll(".groups a")];
const headings = links.map((link) => document.getElementById(link.hash.slice(1)));
let chosen = null; // by a click, which the end of the page may keep from the upper part

function present() {
  const passed = headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
  return headings.indexOf(chosen ?? passed.at(-1) ?? headings[0]);
}

function mark() {
  const here = links[present()];
  if (here.ariaCurrent === "true") return;
  for (const link of links) link.ariaCurrent = link === here ? "true" : null;
  const list = here.parentElement; // on narrow screens a line that scrolls
  if (list.scrollWidth > list.clientWidth) list.scrollTo({ left: here.offsetLeft - list.offsetLeft - 16 });
}

for (const [place, link] of links.entries())
  link.addEventListener("click", () => { chosen = headings[place]; mark(); });
for (const event of ["wheel", "touchmove", "keydown"])
  addEventListener(event, () => { chosen = null; }, { passive: true });
addEventListener("scroll", mark, { passive: true });
mark();
