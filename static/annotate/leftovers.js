// On the annotator's home: what this browser keeps of earlier batches is sent, or said to have come too late.
"use strict";

(() => {
  const page = document.getElementById("leftovers");
  const { who, here } = page.dataset;
  const boxes = [];
  const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;

  for (const token of Outbox.kept(who)) {
    const line = document.createElement("p");
    line.className = "message";
    const box = new Outbox({ who, token, fence: null, address: `${here}${token}/`, csrf, changed, undo: () => {} });

    function changed({ state, sent }) {
      const n = box.entries().length;
      if (state === "saved") line.textContent = word("left saved", { n: sent });
      else if (state === "refused") line.textContent = word("refused", { detail: box.refusal });
      else if (state === "stale") line.replaceChildren(word("left stale", { n }), " ", forget());
      else if (state === "closed") line.replaceChildren(word("left closed", { n }), " ", forget());
      else line.textContent = word(state, { n });
    }

    function forget() {
      const button = document.createElement("button");
      button.textContent = word("forget");
      button.addEventListener("click", () => (box.forget(), line.remove()));
      return button;
    }

    page.append(line);
    boxes.push(box);
    box.send();
  }

  // A batch that is opened while the rest of it is on its way would show places without what was said of them.
  let waited = false;
  document.addEventListener("submit", async (event) => {
    const sending = boxes.filter((box) => box.working);
    if (waited || !sending.length) return;
    event.preventDefault();
    await Promise.all(sending.map((box) => box.drained()));
    waited = true;
    event.target.requestSubmit(event.submitter);
  });
})();
