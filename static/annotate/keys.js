// Keys, buttons, and other signs of a person. `grade(value, input)` judges, `keys` and `clicks` say what the rest does.
"use strict";

// What a key means: Caps Lock changes nothing, and Ctrl+Z is the only key that goes with another.
function keyOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (altKey) return "";
  if (ctrlKey || metaKey) return key.toLowerCase() === "z" && !shiftKey ? "undo" : "";
  return key.length > 1 ? key : key.toLowerCase();
}

function listen({ grade, flag, keys, clicks, sign }) {
  document.addEventListener("keydown", (event) => {
    if (event.repeat || (event.target.matches("input") && event.key !== "Escape")) return;
    if (event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter")) return;
    const key = keyOf(event);
    if (/^[0-4]$/.test(key)) grade(Number(key), "key");
    else if (keys[key]) keys[key]();
    else return;
    event.preventDefault();
  });
  for (const [id, does] of Object.entries(clicks)) document.getElementById(id).addEventListener("click", does);
  for (const button of document.querySelectorAll("[data-grade]"))
    button.addEventListener("click", ({ pointerType }) => {
      if (pointerType) button.blur(); // space pauses again; who came by key stays
      grade(Number(button.dataset.grade), { touch: "touch", "": "key" }[pointerType] || "pointer");
    });
  for (const button of document.querySelectorAll("[data-reason]"))
    button.addEventListener("click", () => flag(button.dataset.reason));
  for (const kind of ["keydown", "pointermove", "pointerdown", "wheel", "touchstart"])
    document.addEventListener(kind, sign, { capture: true, passive: true });
}
