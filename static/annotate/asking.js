// Asking the lead: a small form in the place of the grades. A question travels with the grades (outbox.js) and costs
// none. What the lead answers is shown in a quiet line, which leads to its clip.
"use strict";

(() => {
  const EVERY = 30000; // milliseconds after which the server is asked for answers, while a question waits
  const page = $("workplace");
  const form = $("asking");
  const text = $("question");
  const chosen = JSON.parse($("keys").textContent);
  const grades = [0, 1, 2, 3, 4].map((grade) => chosen[`grade${grade}`]);
  const elsewhere = [chosen.flag, chosen.list, chosen.back, "undo", "Backspace", "ArrowRight"];
  let questions = JSON.parse($("questions").textContent);
  let total = questions.length; // with those that are still on their way
  let timer = null;

  function open(wanted = form.hidden) {
    if (page.classList.contains("over")) return;
    $("ask").setAttribute("aria-expanded", String(wanted));
    if (!wanted) return hide(form);
    if (!$("reasons").hidden) $("flag").click();
    form.hidden = false;
    text.focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = text.value.trim();
    if (!words) return;
    page.dispatchEvent(new CustomEvent("ask", { detail: { about: event.submitter.value, text: words } }));
    total += 1;
    text.value = "";
    open(false);
    hint(word("question"));
    later();
  });

  // The server would not have it: the words are in the form again.
  page.addEventListener("unasked", ({ detail }) => {
    total -= 1;
    text.value = [detail.text, text.value].filter(Boolean).join("\n");
    open(true);
  });

  // The next batch begins in this page: what was asked about the last one is read on the annotator's page.
  page.addEventListener("batch", () => {
    [questions, total] = [[], 0];
    showAnswer();
    later();
  });

  // While the form is open, no digit grades what it lies over, and what leads elsewhere closes it.
  function key(event) {
    const pressed = keyOf(event);
    if (!$("rest").hidden || page.classList.contains("done")) return;
    const opens = form.hidden && pressed === chosen.ask && !event.repeat && !event.target.matches("input");
    if (opens || (!form.hidden && pressed === "Escape")) open();
    else if (form.hidden || event.target === text) return;
    else if (grades.includes(pressed)) text.focus();
    else return void (elsewhere.includes(pressed) && open(false));
    event.preventDefault();
    event.stopPropagation();
  }

  const unread = () => questions.filter(({ answer, read }) => answer !== null && !read).at(-1);
  const waiting = () => questions.length < total || questions.some(({ waits }) => waits);

  function later() {
    clearTimeout(timer);
    if (waiting()) timer = setTimeout(look, EVERY);
  }

  async function look() {
    if (document.hidden || !waiting()) return;
    const headers = { Accept: "application/json" };
    const answer = await fetch(`${page.dataset.here}questions`, { headers, redirect: "error" }).catch(() => null);
    if (answer?.ok) ({ questions } = await answer.json());
    showAnswer();
    later();
  }

  function showAnswer() {
    const last = unread();
    $("answered").hidden = !last;
    if (!last) return;
    const { about, position, answer } = last;
    $("answered").firstChild.textContent = word(about === "clip" ? "answer" : "answer on query", { clip: position, text: answer });
    $("answered").title = answer;
  }

  // To the clip that it is about, where the answer is read.
  function read() {
    const last = unread();
    if (page.dispatchEvent(new CustomEvent("answer", { detail: last, cancelable: true }))) last.read = true;
    showAnswer();
  }

  $("ask").addEventListener("click", () => open());
  $("answered").addEventListener("click", read);
  $("flag").addEventListener("click", () => form.hidden || open(false));
  document.addEventListener("keydown", key, { capture: true });
  document.addEventListener("visibilitychange", look);
  showAnswer();
  later();
})();
