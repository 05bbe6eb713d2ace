// The page's words, in its language, with {names} filled in.
"use strict";

const word = (() => {
  const words = JSON.parse(document.getElementById("words").textContent);
  return (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
})();
