// In the field of a key, the key that is pressed is what is chosen. Tab goes on, Enter stores, and Backspace empties.
"use strict";

(() => {
  const names = JSON.parse(document.getElementById("names").textContent);
  for (const field of document.querySelectorAll("input[data-key]"))
    field.addEventListener("keydown", (event) => {
      const key = keyOf(event);
      if (event.isComposing || (key.length !== 1 && !names[key] && key !== "Backspace")) return;
      event.preventDefault();
      field.value = key === "Backspace" ? "" : (names[key] ?? key);
    });
})();
