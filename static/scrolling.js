// What is larger than its place scrolls, also by keys: it can be reached by Tab then.
"use strict";

(() => {
  const watched = new ResizeObserver((seen) => seen.forEach(({ target }) => reach(target)));

  function reach(box) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  for (const box of document.querySelectorAll(".rows, .changes, .cells, pre, .drawing, .none, .query h1")) watched.observe(box);
})();
