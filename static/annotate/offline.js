// The page that is shown where there is no network: how much this browser keeps, and back as soon as there is one.
"use strict";

(() => {
  const EVERY = 10000; // milliseconds
  const line = document.getElementById("kept");
  const n = ahead.unsent().length;
  let leaving = false; // for a batch that is kept here, which a network that comes back does not interrupt
  const again = () => leaving || window.location.reload();

  line.hidden = !n;
  line.textContent = line.dataset.words.replace("{n}", n);
  listBatches();
  document.getElementById("again").addEventListener("click", again);
  window.addEventListener("online", again);
  setInterval(() => fetch(window.location.href, { method: "HEAD", redirect: "manual" }).then(again, () => {}), EVERY);

  // Batches that were loaded ahead are judged without a network, each under its query.
  async function listBatches() {
    const cache = await ahead.open();
    for (const address of await ahead.toJudge()) {
      const text = await (await cache.match(address)).text();
      const entry = document.createElement("li");
      const link = document.createElement("a");
      link.href = address;
      link.textContent = new DOMParser().parseFromString(text, "text/html").getElementById("query").textContent;
      link.addEventListener("click", () => (leaving = true));
      entry.append(link);
      document.querySelector("#batches ul").append(entry);
      document.getElementById("batches").hidden = false;
    }
  }
})();
