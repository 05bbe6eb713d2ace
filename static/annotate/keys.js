// Keys, buttons, and other signs of a person. `grade(value, input, doubt)` judges, `digit(number)` is true if it takes a
// digit for what is open, `asleep(key)` if no key but its own may do anything; `keys` and `clicks` say what the rest
// does, `doubtful` what the keys of grades do together with Shift; `meant` are all keys that do something by themselves.
"use strict";

// What a key means: Caps Lock changes nothing, a digit is one without Shift too (on French keyboards it is not), and
// Ctrl+Z is the only key that goes with another.
function keyOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }) {
  if (altKey) return "";
  if (ctrlKey || metaKey) return key.toLowerCase() === "z" && !shiftKey ? "undo" : "";
  if (!shiftKey && /^Digit[0-9]$/.test(code)) return code.slice(-1);
  return key.length > 1 ? key : key.toLowerCase();
}

// The key that Shift is held with, to mark a grade as between two; "" without Shift. A digit is found by its place on the
// keyboard, because Shift makes another sign of it. A sign that means something itself is no key with Shift: on French
// keyboards every digit needs Shift.
function keyWithShift({ key, code, ctrlKey, metaKey, altKey, shiftKey }, meant) {
  if (!shiftKey || ctrlKey || metaKey || altKey) return "";
  const isSign = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  if (isSign && meant.has(key)) return "";
  if (/^(Digit|Numpad)[0-9]$/.test(code)) return code.slice(-1);
  return isSign ? "" : key.length > 1 ? key : key.toLowerCase();
}

function listen({ grade, digit, flag, comment, keys, doubtful, meant, clicks, asleep, sign }) {
  document.addEventListener("keydown", (event) => {
    if (event.repeat || (event.target.matches("input") && event.key !== "Escape")) return;
    if (event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter")) return;
    const [key, withShift] = [keyOf(event), keyWithShift(event, meant)];
    if (asleep(key)) event.preventDefault();
    else if (/^[0-9]$/.test(key) && digit(Number(key))) event.preventDefault();
    else if (doubtful[withShift]) event.preventDefault(), doubtful[withShift]();
    else if (keys[key]) event.preventDefault(), keys[key]();
  });
  // After a click, space pauses again and presses no button; who came by key stays.
  const click = (button, does) =>
    button.addEventListener("click", (event) => {
      if (event.detail) button.blur();
      does(event);
    });
  for (const [id, does] of Object.entries(clicks)) click(document.getElementById(id), does);
  for (const button of document.querySelectorAll("[data-grade]"))
    click(button, ({ pointerType, shiftKey }) => {
      grade(Number(button.dataset.grade), { touch: "touch", "": "key" }[pointerType] || "pointer", shiftKey);
    });
  for (const button of document.querySelectorAll("[data-reason]"))
    button.addEventListener("click", () => flag(button.dataset.reason));
  document.getElementById("comment").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    comment();
  });
  for (const kind of ["keydown", "pointermove", "pointerdown", "wheel", "touchstart"])
    document.addEventListener(kind, sign, { capture: true, passive: true });
}
