// Lists: j and k go from row to row, x ticks one, Enter opens it.
"use strict";

for (const list of document.querySelectorAll("[data-list]")) {
  const rows = [...list.querySelectorAll("tbody tr")];
  const boxes = [...list.querySelectorAll("input[name=row]")];
  const bar = list.querySelector("[data-act]");
  let current = -1;

  const go = (place) => {
    if (!rows.length) return;
    rows[current]?.removeAttribute("aria-current");
    current = Math.min(Math.max(place, 0), rows.length - 1);
    rows[current].setAttribute("aria-current", "true");
    rows[current].scrollIntoView({ block: "nearest" });
  };
  const count = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    if (!bar) return;
    bar.querySelector("[data-ticked]").textContent = ticked === 1 ? "The row ticked" : `The ${ticked || ""} rows ticked`.replace("  ", " ");
    bar.classList.toggle("is-used", ticked > 0);
  };
  const keys = {
    j: () => go(current + 1),
    k: () => go(current - 1),
    x: () => boxes[current]?.click(),
    Enter: () => rows[current]?.querySelector("a[href]")?.click(),
  };

  list.addEventListener("change", count);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("input:not([type=checkbox], [type=radio]), select, textarea");
    if (typing && event.key === "Escape") return event.target.blur();
    if (typing || (event.key === "Enter" && event.target.matches("a, button, summary, input"))) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  count(); // a page that comes back keeps its ticks
}
