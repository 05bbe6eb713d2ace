// A slider over the rows of a table: the row that it points at is marked. Without scripts, the table alone is there.
"use strict";

(() => {
  const label = document.querySelector("[data-slider]");
  if (!label) return;
  const slider = label.querySelector("input");
  const rows = label.parentElement.querySelectorAll("tbody tr");

  function mark() {
    rows.forEach((row, number) => row.toggleAttribute("aria-current", number === Number(slider.value)));
    slider.setAttribute("aria-valuetext", rows[slider.value].textContent.trim().replace(/\s+/g, ", "));
  }

  label.hidden = false;
  slider.addEventListener("input", mark);
  mark();
})();
