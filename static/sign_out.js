// Signing out while this browser keeps grades that were not sent: the home of annotators sends them first, or says that
// it cannot. What is kept of somebody is gone once they have signed out.
"use strict";

const kept = {
  // The names of all that is kept of a person (outbox.js).
  names: (who) => Object.keys(localStorage).filter((name) => name.startsWith(`reeljudge/${encodeURIComponent(who)}/`)),
  unsent: (who) => kept.names(who).filter((name) => /\/\d{10}-/.test(name)),
  forget(who) {
    for (const name of kept.names(who)) localStorage.removeItem(name);
    window.caches?.delete("ahead"); // the batches loaded ahead
    sessionStorage.removeItem(`reeljudge/${encodeURIComponent(who)}/pace`);
  },
};

(() => {
  const form = document.querySelector("form.who");
  if (!form || document.getElementById("leftovers")) return; // that page sends what is kept
  form.addEventListener("submit", (event) => {
    const { who, home } = form.dataset;
    if (!kept.unsent(who).length) return kept.forget(who);
    event.preventDefault();
    window.location.href = `${home}#sign-out`;
  });
})();
