// Comparing: while its key is held, or a grade's button pressed for long, the last clip of this query with that grade
// plays beside the one in sight. Nothing is graded by it.
"use strict";

class Compare {
  static KEY = "c";
  static LONG = 400; // milliseconds, after which a pressed button compares

  // `batch()` returns what is in hand: `places`, `stage`, and `at`, the index of the clip in sight; null where there is
  // nothing to compare. `grades` are the keys of the grades, from 0.
  constructor({ batch, grades, isFree }) {
    Object.assign(this, { batch, grades, isOpen: false });
    if (isFree) {
      document.addEventListener("keydown", (event) => this.press(event), { capture: true });
      document.addEventListener("keyup", (event) => keyOf(event) === Compare.KEY && this.close());
    }
    window.addEventListener("blur", () => this.close());
    for (const button of document.querySelectorAll("[data-grade]")) this.listen(button);
  }

  press(event) {
    const key = keyOf(event);
    if (key === Compare.KEY && !this.isOpen && !event.target.matches("input")) this.show(null);
    if (!this.isOpen) return;
    if (this.grades.includes(key)) this.show(this.grades.indexOf(key));
    event.preventDefault();
    event.stopPropagation(); // no key does anything else meanwhile
  }

  listen(button) {
    const end = () => (clearTimeout(this.timer), this.close());
    button.addEventListener("pointerdown", () => {
      this.wasLong = false;
      this.timer = setTimeout(() => {
        this.wasLong = true;
        this.show(Number(button.dataset.grade));
      }, Compare.LONG);
    });
    for (const kind of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(kind, end);
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    // The click that ends a long press gives no grade.
    button.addEventListener("click", (event) => this.wasLong && event.detail && event.stopImmediatePropagation(), { capture: true });
  }

  // The last clip before the one in sight, else the last of all; of one grade, or of any.
  find(grade) {
    const { places, at } = this.batch();
    const { query } = places.all[at];
    const fits = (place) => place.flag === null && place.query === query && (grade === null ? place.grade !== null : place.grade === grade);
    const found = [...places.all.keys()].filter((index) => index !== at && fits(places.all[index]));
    return found.filter((index) => index < at).at(-1) ?? found.at(-1);
  }

  show(grade) {
    const batch = this.batch();
    if (!batch) return;
    const index = this.find(grade);
    this.isOpen = true;
    if (index === undefined) return hint(word("no comparison"));
    const place = batch.places.all[index];
    const [video, words] = $("compare").children;
    const address = batch.stage.addressOf(index) || place.clip;
    if (video.getAttribute("src") !== address) video.src = address;
    const { name } = document.querySelector(`[data-grade="${place.grade}"]`).dataset;
    words.textContent = word("compared", { clip: index + 1, grade: `${place.grade} ${name}` });
    $("compare").hidden = false;
    $("theatre").classList.add("comparing");
    video.play().catch(() => {});
  }

  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    const [video] = $("compare").children;
    video.pause();
    video.removeAttribute("src");
    video.load();
    $("compare").hidden = true;
    $("theatre").classList.remove("comparing");
  }
}
