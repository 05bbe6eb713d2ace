// The workplace: one query, one clip at a time, keys 0-4. Clips play on the stage (stage.js), grades travel behind
// the picture (outbox.js), active time is counted (timer.js); the clip is stopped, sought and sped up in bar.js.
"use strict";

(() => {
  const page = $("workplace");
  const { here, home, who } = page.dataset;
  const assignment = JSON.parse($("assignment").textContent);
  const places = new Places(assignment.places, Number(page.dataset.today));
  const once = "once" in page.dataset; // whether a clip must have played to its end before it is judged
  const timer = new ActiveTime();
  let at = 0; // index of the shown place
  let came = null; // index of the place that was judged just before
  let shown = 0; // when the clip came, in milliseconds
  let submitting = false;
  let warned = false; // that it is too early for the present clip

  const stage = new Stage({
    box: $("stage"),
    clips: assignment.places.map((place) => place.clip),
    sound: "sound" in page.dataset,
    enough: 1000 * Number(page.dataset.watchFirst),
    told: (what) => told[what](),
  });
  const bar = new Bar(stage);
  const told = { absent: showAbsence, load: () => bar.showLoading(), time: showTime, pause: () => bar.showPause() };
  const outbox = new Outbox({
    who,
    token: assignment.token,
    fence: assignment.fence,
    presses: assignment.presses,
    address: here,
    csrf: document.querySelector("[name=csrfmiddlewaretoken]").value,
    version: page.dataset.version,
    renewed: () => ($("renewed").hidden = false),
    changed: showState,
    undo: (entry) => (places.takeBack(entry), showPlace()),
    overtaken: ({ position }) => hint(word("overtaken", { clip: position })),
  });

  const closed = () => outbox.state === "stale";
  const over = () => page.classList.contains("over");
  const left = () => places.open.length;

  // Moving ---------------------------------------------------------------------------------------------
  function show(index, from = null) {
    if (submitting || closed()) return;
    leave();
    at = index;
    came = from;
    shown = performance.now();
    warned = false;
    showQuery();
    stage.show(at);
    bar.showTime();
    page.classList.remove("over");
    hide($("summary"));
    openReasons(false);
    $("news").textContent = "";
    showPlace();
  }

  // Where contested clips of several queries make one batch; the first clip of another query says so in large.
  function showQuery() {
    const { query } = places.all[at];
    if (query === undefined) return;
    $("query").textContent = query;
    $("query").classList.toggle("changed", query !== places.all[at - 1]?.query);
  }

  // The time of a visit belongs to its place; that of the summary to none.
  function leave() {
    const seconds = timer.take();
    if (!over()) places.all[at].spent += seconds;
  }

  // To the next open place, those before it last; with none left, to the summary.
  function next() {
    const open = places.after(at);
    if (open === undefined) summary();
    else show(open, at);
  }

  // To what was said last, which another key changes.
  function back() {
    if (over()) show(at);
    else if (came !== null) show(came);
    else if (at > 0) show(at - 1);
  }

  function forward() {
    if (over() || !places.answered(at)) return;
    if (at + 1 < places.all.length) show(at + 1);
    else summary();
  }

  // Saying something -----------------------------------------------------------------------------------
  function grade(value, input) {
    if (over() || closed()) return;
    if (!$("reasons").hidden) return hint(word("reason"));
    if (stage.unseen) return hint(stage.absent ? absence() : word("loading"));
    if (gated()) return hint(word("gate"));
    if (stage.early && !places.answered(at)) return tooEarly();
    say("PUT", "judgements", { grade: value, seconds: spent(), input });
    const said = word("graded", { grade: value, clip: at + 1, back: toGoBack() });
    next();
    hint(said);
    blink(document.querySelector(`[data-grade="${value}"]`));
  }

  // A second press of the same key, or one that should have mended the first: it does not grade the next clip.
  function tooEarly() {
    warned = true;
    hint(came === null ? word("early") : word("early, or back", { clip: at + 1, before: came + 1, back: toGoBack() }));
    blink($("stage"));
  }

  const gated = () => once && places.all[at].grade === null && !stage.playedOnce;

  function flag(reason) {
    if (closed()) return;
    say("PUT", "flags", { reason, comment: $("comment").value.trim(), seconds: spent() });
    const said = word("flagged", { clip: at + 1, back: toGoBack() });
    next();
    hint(said);
  }

  // While the reasons stand in the place of the grades, a digit is the number of one, whatever the keys of grades are.
  function digit(number) {
    const reason = $("reasons").hidden ? null : $("reasons").querySelectorAll("[data-reason]")[number - 1];
    if (reason) flag(reason.dataset.reason);
    return Boolean(reason);
  }

  // Enter behind the comment: it goes with the reason that is set, or with the one to be chosen now.
  function again() {
    const { flag: reason } = places.all[at];
    if (reason !== null) return flag(reason);
    $("reasons").querySelector("[data-reason]").focus();
    hint(word("reason"));
  }

  function unflag() {
    if (closed()) return;
    say("DELETE", "flags", {});
    hint(word("unflagged", { clip: at + 1 }));
    openReasons(false);
    showPlace();
  }

  const say = (method, what, body) => outbox.add(places.entry(at, method, what, body));
  const spent = () => (leave(), places.take(at));
  const toGoBack = () => word(byKeys() ? "key of back" : "back");

  // Showing --------------------------------------------------------------------------------------------
  function showPlace() {
    const { grade, flag, note } = places.all[at];
    for (const button of document.querySelectorAll("[data-grade]"))
      button.setAttribute("aria-pressed", String(flag === null && Number(button.dataset.grade) === grade));
    for (const button of document.querySelectorAll("[data-reason]"))
      button.setAttribute("aria-pressed", String(button.dataset.reason === flag));
    $("flag").classList.toggle("set", flag !== null);
    $("unflag").hidden = flag === null;
    $("note").textContent = note || "";
    $("note").hidden = !note;
    $("back").disabled = !over() && at === 0 && came === null;
    $("forward").disabled = over() || !places.answered(at);
    $("flag").disabled = over();
    $("position").textContent = `${at + 1} / ${places.all.length}`;
    $("left").textContent = word("left", { n: left() });
    $("today").textContent = word("today", { n: places.today });
    showGate();
  }

  function showAbsence() {
    $("absent").hidden = !stage.absent;
    $("bar").hidden = !places.all[at].clip; // what does not load can be tried again there
    $("absent").textContent = stage.absent ? absence() : "";
    bar.showLoading();
    showGate();
  }

  const absence = () => word(places.all[at].clip ? "broken" : "missing");

  function showTime() {
    bar.showTime();
    const { paused, duration } = stage.video;
    const watching = !paused && performance.now() - shown < (2000 * duration) / stage.speed;
    if (watching && !over()) timer.sign(); // nobody has to move to watch a clip twice
    if (warned && !stage.early) [warned] = [false, hint("")];
    showGate();
  }

  const showGate = () => $("grades").classList.toggle("waiting", stage.absent || gated());

  function openReasons(open = $("reasons").hidden) {
    $("flag").setAttribute("aria-expanded", String(open));
    if (!open) return hide($("reasons"));
    $("reasons").hidden = false;
    $("comment").value = places.all[at].comment;
    $("reasons").querySelector("[data-reason]").focus();
  }

  // The end of the batch -------------------------------------------------------------------------------
  function summary() {
    leave();
    stage.stop();
    openReasons(false);
    page.classList.add("over");
    $("summary").hidden = false;
    const all = places.all.length;
    $("summary-words").textContent = left() ? word("open", { n: left(), all }) : word("all", { all });
    $("strip").replaceChildren(...places.all.map((place, index) => stripEntry(place, index, () => show(index))));
    showPlace();
    showSubmit();
    if (!left()) $("submit").focus();
  }

  const showSubmit = () => ($("submit").disabled = submitting || left() > 0 || closed());

  async function submit() {
    submitting = true;
    showSubmit();
    $("submit").textContent = word("submitting");
    const answer = (await outbox.drained()) && (await outbox.request("POST", `${here}submit`, { fence: outbox.fence }));
    if (answer && answer.ok) {
      const { next = home } = await answer.json().catch(() => ({}));
      return outbox.forget(), void (window.location.href = next);
    }
    const problem = answer ? await answer.json().catch(() => ({})) : {};
    if (outbox.isOfAnother(problem)) problem.detail = word("another", { n: 0, user: problem.user, who });
    if (problem.code === "stale" && (await outbox.resume())) return submit();
    submitting = false;
    if (!closed()) $("summary-words").textContent = problem.detail || word("unsent");
    $("submit").textContent = word("submit");
    showSubmit();
  }

  // Where what was said has got to, and a sentence when something stood in its way.
  function showState({ state, trouble, sent, refusal }) {
    const n = outbox.entries().length;
    $("saved").textContent = word(state, { n, detail: refusal, user: outbox.user, who });
    $("saved").className = `saved ${state.replace(" ", "-")}`;
    if (state === "saved" && trouble) {
      if (sent || trouble === "resumed")
        $("news").textContent = word(trouble === "resumed" ? "resumed" : "again", { n: sent });
      stage.retry();
    } else if (state !== "saved" && state !== "sending") $("news").textContent = "";
    if (closed()) showClosed(n);
    showSubmit();
  }

  // Nothing more can be said here: submitted in another tab, or gone to others after a long absence.
  function showClosed(n) {
    summary();
    $("summary-words").textContent = `${word("gone")} ${word(n ? "kept not" : "kept all", { n })}`;
    $("strip").hidden = $("submit").hidden = true;
  }

  // What another tab says of the same batch holds here too.
  window.addEventListener("storage", ({ key, newValue }) => {
    if (!key || !key.startsWith(outbox.prefix) || key === outbox.counter || !newValue) return;
    const entry = JSON.parse(newValue);
    if (entry.what === "questions") return;
    places.say(entry);
    $("news").textContent = word("elsewhere", { clip: entry.position });
    if (over()) summary();
    else showPlace();
  });

  page.addEventListener("ask", ({ detail }) => {
    outbox.add({ method: "POST", what: "questions", position: at + 1, body: detail });
  });

  // Keys and buttons -----------------------------------------------------------------------------------
  // What a person can choose the key of. The card's is in guideline.js.
  const named = {
    back,
    flag: () => over() || openReasons(),
    list: () => (over() ? show(at) : summary()),
    pause: () => over() || stage.pause(),
    again: () => over() || stage.rewindBy(2),
  };
  for (let value = 0; value <= 4; value++) named[`grade${value}`] = () => grade(value, "key");
  const keys = {
    Backspace: back,
    undo: back,
    ArrowRight: forward,
    s: () => bar.faster(),
    ",": () => over() || stage.step(-1),
    ".": () => over() || stage.step(1),
    r: () => over() || (stage.absent ? stage.retry() : stage.play()),
    v: () => over() || fullScreen(),
    Enter: () => (over() ? $("submit").focus() : fullScreen()),
    m: () => $("sound").hidden || bar.hear(),
    Escape: () => openReasons(false),
  };
  const chosen = JSON.parse($("keys").textContent);
  for (const [what, does] of Object.entries(named)) keys[chosen[what]] = does;
  const clicks = {
    back,
    forward,
    flag: () => openReasons(),
    unflag,
    overview: named.list,
    pause: named.pause,
    replay: keys.r,
    again: named.again,
    "frame-back": keys[","],
    "frame-on": keys["."],
    speed: keys.s,
    full: fullScreen,
    sound: keys.m,
    submit,
  };

  listen({ grade, digit, flag, comment: again, keys, clicks, sign: () => timer.sign() });
  document.addEventListener("visibilitychange", () => (document.hidden ? timer.hide() : timer.show()));
  window.addEventListener("online", () => stage.retry());
  if (document.hidden) timer.hide();

  // What was said before the page was loaded, and is not acknowledged, holds.
  for (const entry of outbox.entries()) places.say(entry);
  if (!outbox.empty) outbox.trouble = "waited";
  show(places.open[0] ?? 0);
  if (!left()) summary();
  outbox.send();
})();
