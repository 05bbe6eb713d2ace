// Buttons with data-copy put its text on the clipboard.
"use strict";

for (const button of document.querySelectorAll("[data-copy]"))
  button.addEventListener("click", async () => {
    const words = button.textContent;
    const done = await navigator.clipboard.writeText(button.dataset.copy).then(() => "Copied", () => "Not copied");
    button.textContent = done;
    setTimeout(() => (button.textContent = words), 2000);
  });
