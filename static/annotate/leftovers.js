// On the annotator's home: what this browser keeps of earlier batches is sent, or said to have come too late. Nobody
// signs out before that, unless they give it up.
"use strict";

(() => {
  const page = document.getElementById("leftovers");
  const { who, here } = page.dataset;
  const boxes = [];
  const PATIENCE = 5000; // milliseconds of somebody who signs out
  const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const signOut = document.querySelector("form.who");

  for (const token of Outbox.kept(who)) {
    const line = document.createElement("p");
    line.className = "message";
    const box = new Outbox({ who, token, fence: null, address: `${here}${token}/`, csrf, changed });

    function changed({ state, sent }) {
      const n = box.entries().length;
      if (state === "saved") line.textContent = word("left saved", { n: sent });
      else if (state === "refused") line.textContent = word("refused", { detail: box.refusal });
      else if (state === "stale") line.replaceChildren(word("left stale", { n }), " ", forget());
      else if (state === "closed") line.replaceChildren(word("left closed", { n }), " ", forget());
      else line.textContent = word(state, { n, user: box.user, who });
    }

    const forget = () => button("forget", () => (box.forget(), line.remove()));

    page.append(line);
    boxes.push(box);
    box.send();
  }

  function button(name, does) {
    const made = document.createElement("button");
    made.textContent = word(name);
    made.addEventListener("click", does);
    return made;
  }

  // A batch that is opened while the rest of it is on its way would show places without what was said of them.
  let waited = false;
  document.addEventListener("submit", async (event) => {
    const sending = boxes.filter((box) => box.working);
    if (event.target === signOut) {
      event.preventDefault();
      return leave();
    }
    if (waited || !sending.length) return;
    event.preventDefault();
    await Promise.all(sending.map((box) => box.drained()));
    waited = true;
    event.target.requestSubmit(event.submitter);
  });

  // Sign out, if nothing is kept any more; else ask.
  async function leave() {
    await Promise.all(boxes.map((box) => box.drained(PATIENCE)));
    const n = kept.unsent(who).length;
    if (!n) return goodbye();
    const line = document.createElement("p");
    line.className = "message error";
    const stay = button("stay", () => line.remove());
    line.append(word("unsent here", { n }), " ", stay, " ", button("lose", goodbye));
    page.querySelector(".error")?.remove();
    page.append(line);
    stay.focus();
  }

  function goodbye() {
    kept.forget(who);
    signOut.submit(); // without asking again
  }

  if (window.location.hash === "#sign-out") signOut.requestSubmit();
})();
