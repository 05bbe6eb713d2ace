// Keys, buttons, and other signs of a person. `grade(value, input)` judges, `digit(number)` is true if it takes a digit
// for what is open, `asleep(key)` if no key but its own may do anything; `keys` and `clicks` say what the rest does.
"use strict";

// What a key means: Caps Lock changes nothing, a digit is one without Shift too (on French keyboards it is not), and
// Ctrl+Z is the only key that goes with another.
function keyOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }) {
  if (altKey) return "";
  if (ctrlKey || metaKey) return key.toLowerCase() === "z" && !shiftKey ? "undo" : "";
  if (!shiftKey && /^Digit[0-9]$/.test(code)) return code.slice(-1);
  return key.length > 1 ? key : key.toLowerCase();
}

function listen({ grade, digit, flag, comment, keys, clicks, asleep, sign }) {
  document.addEventListener("keydown", (event) => {
    if (event.repeat || (event.target.matches("input") && event.key !== "Escape")) return;
    if (event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter")) return;
    const key = keyOf(event);
    if (asleep(key)) event.preventDefault();
    else if (/^[0-9]$/.test(key) && digit(Number(key))) event.preventDefault();
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
    click(button, ({ pointerType }) => {
      grade(Number(button.dataset.grade), { touch: "touch", "": "key" }[pointerType] || "pointer");
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
