// A heat map is one stop of the tab key: arrow keys go to the next cell in a row or a column that can be opened, and at the
// end of it to the cell before or after in the order of reading, so that each can be reached.
"use strict";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

for (const map of document.querySelectorAll("[data-grid]")) {
  const place = (link) => ["x", "y"].map((name) => Number(link.querySelector("rect").getAttribute(name)));
  const links = [...map.querySelectorAll("a")];

  map.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const here = event.target.closest("a");
    if (!step || !here || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [x, y] = place(here);
    const ahead = links
      .map((link) => [link, place(link)])
      .filter(([, at]) => (step[0] ? at[1] === y && (at[0] - x) * step[0] > 0 : at[0] === x && (at[1] - y) * step[1] > 0))
      .sort((one, other) => Math.abs(one[1][0] - x + one[1][1] - y) - Math.abs(other[1][0] - x + other[1][1] - y));
    const next = ahead[0]?.[0] ?? links[links.indexOf(here) + step[0] + step[1]];
    if (!next) return;
    here.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
