// Lets the browser keep the page that it shows where there is no network.
"use strict";

(() => {
  const { worker } = document.currentScript.dataset;
  const install = () => navigator.serviceWorker.register(worker, { updateViaCache: "none" }).catch(() => {});
  if (navigator.serviceWorker) window.addEventListener("load", install);
})();
