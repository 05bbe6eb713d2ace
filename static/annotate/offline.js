// The page that is shown where there is no network: how much this browser keeps, and back as soon as there is one.
"use strict";

(() => {
  const EVERY = 10000; // milliseconds
  const KEPT = /^reeljudge\/[^/]+\/[^/]+\/(?!presses$)/; // an entry of outbox.js
  const line = document.getElementById("kept");
  const n = Object.keys(localStorage).filter((name) => KEPT.test(name)).length;
  const again = () => window.location.reload();

  line.hidden = !n;
  line.textContent = line.dataset.words.replace("{n}", n);
  document.getElementById("again").addEventListener("click", again);
  window.addEventListener("online", again);
  setInterval(() => fetch(window.location.href, { method: "HEAD", redirect: "manual" }).then(again, () => {}), EVERY);
})();
