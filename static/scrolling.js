// What is larger than its place scrolls, also by keys: it can be reached by Tab then.
"use strict";

(() => {
  const sizes = new ResizeObserver((seen) => seen.forEach(({ target }) => reach(target)));
  // A figure that is drawn may be wider than what kept its place, in a box of the same size.
  const contents = new MutationObserver((seen) => seen.forEach(({ target }) => reach(target)));

  function reach(box) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  function watch() {
    sizes.disconnect();
    contents.disconnect();
    for (const box of document.querySelectorAll(".rows, .changes, .cells, .matrix, pre, .drawing, .none, .query h1")) {
      sizes.observe(box);
      contents.observe(box, { childList: true });
    }
  }

  // On narrow screens tabs scroll sideways, and the present one is to be seen.
  for (const here of document.querySelectorAll(".filters > [aria-current]")) {
    const [bar, place] = [here.parentElement.getBoundingClientRect(), here.getBoundingClientRect()];
    here.parentElement.scrollLeft += place.left + place.width / 2 - bar.left - bar.width / 2;
  }
  watch();
  document.addEventListener("swapped", watch); // a page in the place of another
})();
