// The workplace: one query, one clip at a time, keys 0-4. Clips play on the stage (stage.js), grades travel behind
// the picture (outbox.js), active time is counted (timer.js); the clip is stopped, sought and sped up in bar.js. All
// clips of a batch are listed in overview.js; what follows a submission is in moment.js.
"use strict";

(() => {
  const page = $("workplace");
  const { home, who } = page.dataset;
  const once = "once" in page.dataset; // whether a clip must have played to its end before it is judged
  const timer = new ActiveTime();
  const suggests = "suggestsBreaks" in page.dataset;
  const pace = new Pace({ timer, who, goal: Number(page.dataset.goal), suggests });
  const bar = new Bar();
  const overview = new Overview({ open: (index) => show(index) });
  const moment = new Moment({ home, begin });
  let places, stage, outbox; // of the batch in hand
  let at = 0; // index of the shown place
  let came = null; // index of the place that was judged just before
  let listed = 0; // active seconds in the list of all clips
  let shown = 0; // when the clip came, in milliseconds
  let wasLater = false; // whether the shown place was marked for later when it came
  let looking = false; // whether those marked for later are gone through
  let submitting = false; // or submitted already
  let notes = new Map(); // index → what is read there: the lead's answer, or her own note
  let restBegan = 0; // in milliseconds
  let warned = false; // that it is too early for the present clip
  let renewed = false; // whether the server is newer than this page

  const told = {
    absent: showAbsence,
    load: () => bar.showLoading(),
    time: showTime,
    pause: () => bar.showPause(),
    whole: () => over() && overview.fill(),
  };
  const closed = () => outbox.state === "stale";
  const over = () => page.classList.contains("over");
  const resting = () => timer.resting;
  const left = () => places.open.length;

  // A batch --------------------------------------------------------------------------------------------
  function stageFor(assignment, first = null) {
    const made = new Stage({
      box: $("stage"),
      first,
      clips: assignment.places.map((place) => place.clip),
      sound: "sound" in page.dataset,
      enough: 1000 * Number(page.dataset.watchFirst),
      told: (what) => made === stage && told[what](),
    });
    return made;
  }

  function outboxFor({ token, fence, presses }, address) {
    const made = new Outbox({
      who,
      token,
      fence,
      presses,
      address,
      csrf: document.querySelector("[name=csrfmiddlewaretoken]").value,
      version: page.dataset.version,
      renewed: () => ((renewed = true), ($("renewed").hidden = false)),
      changed: () => made === outbox && showState(made),
      undo: (entry) => {
        if (entry.what === "questions") return page.dispatchEvent(new CustomEvent("unasked", { detail: entry.body }));
        places.takeBack(entry);
        showPlace();
      },
      overtaken: ({ position }) => hint(word("overtaken", { clip: position })),
    });
    return made;
  }

  // What was said of it before the page was loaded, and is not acknowledged, holds.
  function take(assignment, address, today, newStage) {
    stage = newStage;
    outbox = outboxFor(assignment, address);
    places = new Places(assignment.places, today, outbox.marks);
    bar.take(stage);
    for (const entry of [...outbox.remembered(), ...outbox.entries()]) places.say(entry);
    if (!outbox.empty) outbox.trouble = "waited";
    [at, came, looking] = [0, null, false];
    const first = places.after(-1) ?? 0;
    const text = localStorage.getItem(outbox.note);
    notes = new Map(text ? [[first, word("own note", { text })]] : []);
    show(first);
    listed = 0;
    if (places.after(-1) === undefined) summary();
    outbox.send();
  }

  // The next batch begins in this page, unless it needs a page of its own: that of a newer version, or of an exam whose
  // clips come back. Behind an open card, going back would lead to the address of before.
  function begin({ assignment, query, address, stage: prepared }, today) {
    const comesBack = assignment.places.some((place) => "note" in place);
    if (renewed || comesBack || history.state?.guideline) return void (window.location.href = address);
    history.replaceState(null, "", address);
    $("query").textContent = query;
    $("query").classList.toggle("long", query.length > 120);
    $("query").classList.remove("changed");
    page.dataset.here = address;
    page.dispatchEvent(new CustomEvent("batch"));
    mode("done", false);
    submitting = false;
    take(assignment, address, today, prepared);
  }

  // What the page shows: the list, a break, what follows a submission, or none of these, which is the clip to judge.
  function mode(name, is) {
    page.classList.toggle(name, is);
    page.classList.toggle("judging", !["over", "resting", "done"].some((each) => page.classList.contains(each)));
  }

  // Moving ---------------------------------------------------------------------------------------------
  function show(index, from = null) {
    if (submitting || closed()) return;
    leave();
    at = index;
    came = from;
    shown = performance.now();
    warned = false;
    showQuery();
    wasLater = places.later.has(index);
    stage.show(at);
    bar.showTime();
    mode("over", false);
    bar.sleep();
    showMore(false);
    hide($("noting"));
    hide($("summary"));
    overview.clear();
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

  // The time of a visit belongs to its place, and that of the list to the submission.
  function leave() {
    const seconds = timer.take();
    if (over()) listed += seconds;
    else places.all[at].spent += seconds;
  }

  // To the next open place, those before it last; with none left, to the list.
  function next() {
    const onward = looking ? places.laterThan(at) : places.after(at);
    if (onward === undefined) summary();
    else show(onward, at);
  }

  // To what was said last, which another key changes.
  function back() {
    if (over()) show(at);
    else if (came !== null) show(came);
    else if (at > 0) show(at - 1);
  }

  function forward() {
    if (over() || !passable()) return;
    if (looking) next();
    else if (at + 1 < places.all.length) show(at + 1);
    else summary();
  }

  const passable = () => places.answered(at) || places.later.has(at);

  // Through those marked for later, one after the other.
  function look() {
    looking = true;
    show(places.laterThan(-1));
  }

  // Saying something -----------------------------------------------------------------------------------
  function grade(value, input, doubt = false) {
    if (over() || closed()) return;
    if (!$("reasons").hidden) return hint(word("reason"));
    if (stage.unseen) return hint(stage.absent ? absence() : word("loading"));
    if (gated()) return hint(word("gate"));
    if (stage.early && !places.answered(at)) return tooEarly();
    say("PUT", "judgements", { grade: value, doubt, seconds: spent(), input });
    const said = word("graded", { grade: doubt ? `${value} ±` : value, clip: at + 1, back: toGoBack() });
    next();
    hint(said, true);
    blink(document.querySelector(`[data-grade="${value}"]`));
  }

  // A second press of the same key, or one that should have mended the first: it does not grade the next clip.
  function tooEarly() {
    warned = true;
    const values = { clip: at + 1, before: came + 1, back: toGoBack() };
    hint(came === null ? word("early") : word("early, or back", values));
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

  // What was marked in an earlier visit has been looked at again, once something is said of it.
  function say(method, what, body) {
    if (wasLater) places.mark(at, false);
    if (!places.answered(at)) pace.count(body.seconds);
    outbox.add(places.entry(at, method, what, body));
  }

  const spent = () => (leave(), places.take(at));
  const toGoBack = () => word(byKeys() ? "key of back" : "back");

  function later() {
    if (over() || closed()) return;
    wasLater = false;
    places.mark(at, !places.later.has(at));
    hint(word(places.later.has(at) ? "marked" : "unmarked", { clip: at + 1 }));
    showPlace();
  }

  // Who leaves in the middle of a batch can write herself a note. It stays in this browser, and is read where she goes on.
  function leaving(event) {
    if (over() || closed() || !left() || left() === places.all.length) return;
    event.preventDefault();
    showMore(false);
    openReasons(false);
    $("own-note").value = localStorage.getItem(outbox.note) || "";
    $("noting").hidden = false;
    $("own-note").focus();
  }

  function leaveWithNote(event) {
    event.preventDefault();
    const text = $("own-note").value.trim();
    try {
      if (text) localStorage.setItem(outbox.note, text);
      else localStorage.removeItem(outbox.note);
    } catch {} // storage is full or forbidden: she leaves without
    window.location.href = home;
  }

  // A break --------------------------------------------------------------------------------------------
  function rest() {
    if (resting()) return wake();
    if (submitting) return;
    leave();
    timer.sign();
    $("worked").textContent = word("worked", { n: Math.round(timer.since / 60) });
    timer.rest();
    stage.stop();
    restBegan = performance.now();
    showResting();
    openReasons(false);
    mode("resting", true);
    $("rest").hidden = false;
    $("wake").focus();
  }

  // The second clock: how long the break is.
  function showResting() {
    if (!resting()) return;
    $("resting").textContent = word("resting", { time: clock((performance.now() - restBegan) / 1000).slice(0, -2) });
    setTimeout(showResting, 1000);
  }

  function wake() {
    timer.wake();
    mode("resting", false);
    hide($("rest"));
    if (!over()) show(at, came);
    else showPlace();
  }

  function suggestNoBreaks() {
    pace.suggests = false;
    showPlace();
    outbox.request("POST", page.dataset.noBreaks);
  }

  // Showing --------------------------------------------------------------------------------------------
  function showPlace() {
    const { grade, doubt, flag, note } = places.all[at];
    for (const button of document.querySelectorAll("[data-grade]")) {
      const pressed = flag === null && Number(button.dataset.grade) === grade;
      button.setAttribute("aria-pressed", String(pressed));
      button.querySelector(".doubt").hidden = !(pressed && doubt);
    }
    for (const button of document.querySelectorAll("[data-reason]"))
      button.setAttribute("aria-pressed", String(button.dataset.reason === flag));
    $("flag").classList.toggle("set", flag !== null);
    $("unflag").hidden = flag === null;
    $("later").setAttribute("aria-pressed", String(places.later.has(at)));
    $("note").textContent = notes.get(at) || note || "";
    $("note").hidden = !$("note").textContent;
    $("back").disabled = !over() && at === 0 && came === null;
    $("forward").disabled = over() || !passable();
    $("flag").disabled = $("later").disabled = over();
    const position = { n: at + 1, all: places.all.length };
    $("position").textContent = "exam" in page.dataset ? word("exam", position) : `${position.n} / ${position.all}`;
    pace.show(places);
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

  // On a phone, what is not needed for each clip takes the place of the grades.
  function showMore(wanted = !page.classList.contains("more")) {
    page.classList.toggle("more", wanted);
    $("more").setAttribute("aria-expanded", String(wanted));
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
    looking = false;
    stage.stop();
    openReasons(false);
    mode("over", true);
    $("summary").hidden = false;
    const all = places.all.length;
    const count = (name, n) => word(n === 1 ? `one ${name}` : name, { n, all });
    $("summary-words").textContent = left() ? count("open", left()) : word("all", { all });
    $("later-words").textContent = places.later.size ? count("later left", places.later.size) : "";
    $("look").hidden = !places.later.size;
    overview.show(places, stage);
    showPlace();
    showSubmit();
    if (places.after(-1) === undefined) toGoOn().focus();
  }

  const toGoOn = () => $($("look").hidden ? "submit" : "look");

  function showSubmit() {
    $("submit").disabled = submitting || left() > 0 || closed();
    $("submit").classList.toggle("primary", $("look").hidden);
  }

  async function submit() {
    leave();
    submitting = true;
    showSubmit();
    $("submit").textContent = word("submitting");
    const body = () => ({ fence: outbox.fence, list_seconds: Places.rounded(listed) });
    const isSent = await outbox.drained(navigator.onLine ? undefined : 0);
    const answer = isSent && (await outbox.request("POST", `${outbox.address}submit`, body()));
    const said = (answer && (await answer.json().catch(() => null))) || {};
    $("submit").textContent = word("submit");
    if (answer?.ok && said.submitted) return done(said);
    if (!answer && !closed() && (await ahead.pages()).includes(outbox.address)) return park();
    if (outbox.isOfAnother(said)) said.detail = word("another", { n: 0, user: said.user, who });
    if (said.code === "stale" && (await outbox.resume())) return submit();
    submitting = false;
    if (!closed()) $("summary-words").textContent = said.detail || word("unsent");
    showSubmit();
  }

  // The batch is the server's. What comes next loads while she reads what she did.
  function done(said) {
    ahead.forget((address) => address === outbox.address);
    if (said.onward) return outbox.close(), void (window.location.href = said.onward);
    outbox.close();
    finish();
    if (said.next) {
      const prepared = (said.next.stage = stageFor(said.next.assignment));
      prepared.expect(new Places(said.next.assignment.places, 0, "").after(-1) ?? 0);
    }
    moment.show(said, places, pace);
  }

  // There is no network: what was loaded ahead is submitted later, and the next batch that is kept here can begin.
  async function park() {
    if (!outbox.isParked)
      outbox.add({ method: "POST", what: Outbox.SUBMIT, body: { list_seconds: Places.rounded(listed) } });
    finish();
    moment.park(places, (await ahead.toJudge())[0]);
  }

  function finish() {
    hide($("summary"));
    hint("");
    mode("done", true);
    overview.clear();
    stage.dispose();
  }

  // The submissions of other batches that wait in this browser go on meanwhile.
  function sendParked() {
    for (const token of Outbox.kept(who)) {
      if (token === assignment.token) continue;
      const address = page.dataset.here.replace(assignment.token, token);
      const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;
      const box = new Outbox({ who, token, fence: null, address, csrf, changed() {} });
      if (box.isParked) box.send();
      else box.living.abort();
    }
  }

  // Where what was said has got to, and a sentence when something stood in its way.
  function showState({ state, trouble, sent, refusal }) {
    const n = outbox.entries().length;
    $("saved").title = $("saved").lastChild.textContent = word(state, { n, detail: refusal, user: outbox.user, who });
    $("saved").lastChild.classList.toggle("hidden", ["saved", "sending"].includes(state));
    $("saved").className = `saved ${state === "saved" ? "settled" : state.replace(" ", "-")}`;
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
    if (resting()) wake();
    summary();
    $("summary-words").textContent = `${word("gone")} ${word(n ? "kept not" : "kept all", { n })}`;
    for (const id of ["strip", "later-words", "look", "submit"]) $(id).hidden = true;
  }

  // What another tab says of the same batch holds here too.
  window.addEventListener("storage", ({ key, newValue }) => {
    if (!key?.startsWith(outbox.prefix) || !newValue) return;
    if (key === outbox.marks) places.readMarks();
    else {
      if (!Outbox.ENTRY.test(key)) return;
      const entry = JSON.parse(newValue);
      if (!Outbox.isPress(entry)) return;
      places.say(entry);
      $("news").textContent = word("elsewhere", { clip: entry.position });
    }
    if (submitting) return;
    if (over()) summary();
    else showPlace();
  });

  // A lead's answer is read at its clip; that on the query at the one in sight.
  page.addEventListener("answer", (event) => {
    if (resting() || submitting) return event.preventDefault(); // it is not read yet
    const { about, position, answer, letter } = event.detail;
    const index = about === "clip" && position ? position - 1 : at;
    notes.set(index, word("answer here", { text: answer }));
    outbox.request("POST", page.dataset.read.replace("/messages/0/", `/messages/${letter}/`));
    show(index);
  });

  page.addEventListener("ask", ({ detail }) => {
    outbox.add({ method: "POST", what: "questions", position: at + 1, body: detail });
  });

  // Keys and buttons -----------------------------------------------------------------------------------
  // What a person can choose the key of. The card's is in guideline.js.
  const named = {
    back,
    flag: () => over() || openReasons(),
    later,
    list: () => (over() ? show(at) : summary()),
    pause: () => over() || stage.pause(),
    again: () => over() || stage.rewindBy(2),
    rest,
  };
  for (let value = 0; value <= 4; value++) named[`grade${value}`] = () => grade(value, "key");
  const doubtful = {}; // what a grade's key does with Shift
  const keys = {
    Backspace: back,
    undo: back,
    ArrowRight: forward,
    s: () => bar.faster(),
    ",": () => over() || stage.step(-1),
    ".": () => over() || stage.step(1),
    r: () => over() || (stage.absent ? stage.retry() : stage.play()),
    v: () => over() || fullScreen(),
    Enter: () => {
      if (page.classList.contains("done")) moment.begin();
      else if (!$("answered").hidden) $("answered").click();
      else if (over()) toGoOn().focus();
      else fullScreen();
    },
    m: () => $("sound").hidden || bar.hear(),
    Escape: () => (openReasons(false), hide($("noting"))),
  };
  const chosen = JSON.parse($("keys").textContent);
  for (const [what, does] of Object.entries(named)) keys[chosen[what]] = does;
  for (let value = 0; value <= 4; value++) doubtful[chosen[`grade${value}`]] = () => grade(value, "key", true);
  const meant = new Set([...Object.keys(keys), ...Object.values(chosen)]);
  const clicks = {
    back,
    forward,
    flag: () => (showMore(false), openReasons()),
    more: () => showMore(),
    unflag,
    later,
    overview: named.list,
    "rest-now": rest,
    leave: leaving,
    stay: () => hide($("noting")),
    wake,
    "take-break": rest,
    "no-breaks": suggestNoBreaks,
    pause: named.pause,
    replay: keys.r,
    again: named.again,
    "frame-back": keys[","],
    "frame-on": keys["."],
    speed: keys.s,
    full: fullScreen,
    sound: keys.m,
    look,
    submit,
    "begin-next": () => moment.begin(),
  };

  new Compare({
    batch: () => (over() || resting() || submitting ? null : { places, stage, at }),
    grades: [0, 1, 2, 3, 4].map((grade) => chosen[`grade${grade}`]),
    isFree: !Object.values(chosen).includes(Compare.KEY),
  });

  // In a break every key that goes on ends it, and no other does anything.
  const asleep = (key) => {
    if (resting() && ["Enter", " ", "Escape", chosen.rest].includes(key)) wake();
    else return resting();
    return true;
  };

  $("noting").addEventListener("submit", leaveWithNote);
  $("help").addEventListener("click", () => showMore(false));
  listen({ grade, digit, flag, comment: again, keys, doubtful, meant, clicks, asleep, sign: () => timer.sign() });
  document.addEventListener("visibilitychange", () => (document.hidden ? timer.hide() : timer.show()));
  window.addEventListener("online", () => stage.retry());
  setInterval(() => pace.show(places), 20000);
  if (document.hidden) timer.hide();

  const assignment = JSON.parse($("assignment").textContent);
  sendParked();
  take(assignment, page.dataset.here, Number(page.dataset.today), stageFor(assignment, $("stage").querySelector("video")));
})();
