// Small doings with the workplace's elements.
"use strict";

const $ = (id) => document.getElementById(id);
const label = (id, text) => ($(id).firstChild.textContent = `${text} `);
const clock = (seconds) => `${Math.floor(seconds / 60)}:${(Math.floor(10 * (seconds % 60)) / 10).toFixed(1).padStart(4, "0")}`;

// Whether there is a keyboard to tell of; the stylesheet asks the same.
const byKeys = () => !window.matchMedia("(hover: none) and (pointer: coarse), (max-width: 800px)").matches;

// What is told of each grade is for those who hear the page: others see the key, and nothing changes twice a clip.
function hint(text, isHeard = false) {
  $("hint").textContent = text;
  $("hint").classList.toggle("hidden", isHeard);
  clearTimeout(hint.timer);
  hint.timer = setTimeout(() => ($("hint").textContent = ""), 4000);
}

function blink(button) {
  button.classList.remove("blink");
  void button.offsetWidth; // begins the animation anew
  button.classList.add("blink");
}

// What closes gives the focus to the page, so that it is never lost.
function hide(box) {
  if (box.contains(document.activeElement)) document.querySelector("main").focus();
  box.hidden = true;
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen?.().catch(() => {});
}
