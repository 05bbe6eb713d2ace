// On the home of an annotator who waits for work and gets no mails: the page asks now and then whether there is some, and
// says so once, also by a notification of the browser if she allows it.
"use strict";

for (const form of document.querySelectorAll("form.waiting[data-news]")) {
  const EVERY = 60000; // milliseconds
  const line = form.querySelector("[data-words]");
  const allow = form.querySelector(".allow");
  const asking = setInterval(ask, EVERY);

  allow.hidden = window.Notification?.permission !== "default";
  allow.addEventListener("click", async () => (allow.hidden = (await Notification.requestPermission()) !== "default"));

  async function ask() {
    const headers = { Accept: "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
    const answer = await fetch(form.dataset.news, { method: "POST", redirect: "error", headers }).catch(() => null);
    const { work, waits } = answer?.ok ? await answer.json() : { waits: true };
    if (waits) return;
    clearInterval(asking);
    if (work) tell();
  }

  function tell() {
    const words = line.dataset.words;
    line.textContent = document.title = words;
    line.className = "message";
    form.querySelector(".buttons").hidden = true;
    form.parentElement.querySelector("form[action$='/claim'] button")?.focus();
    if (window.Notification?.permission === "granted") notify(words);
  }

  async function notify(words) {
    const options = { tag: "work", icon: document.querySelector("link[rel=apple-touch-icon]").href };
    const worker = await navigator.serviceWorker?.getRegistration();
    if (worker) return worker.showNotification(words, options); // phones show no others
    const shown = new Notification(words, options);
    shown.addEventListener("click", () => window.focus());
    return shown;
  }
}
