// The workplace: one query, one clip at a time, keys 0-4. Grades travel behind the picture (outbox.js).
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const page = $("workplace");
  const assignment = JSON.parse($("assignment").textContent);
  const places = assignment.places;
  const AHEAD = 2; // clips that are loaded before they are needed
  const SPEEDS = [1, 1.5, 2, 0.5];
  const videos = new Map(); // position → <video>
  let at = 0; // index of the shown place
  let speed = 1;
  let since = performance.now();
  let submitting = false;

  const outbox = new Outbox({
    token: assignment.token,
    fence: assignment.fence,
    address: page.dataset.here,
    csrf: document.querySelector("[name=csrfmiddlewaretoken]").value,
    changed: showState,
    undo: ({ what, position }) => {
      say(places[position - 1], what, { grade: null, reason: null });
      showGrade();
    },
  });

  // What was said before the page was loaded, and not acknowledged, holds.
  for (const { what, position, body } of outbox.entries()) say(places[position - 1], what, body);

  function say(place, what, body) {
    if (what === "judgements") place.grade = body.grade;
    else place.flag = body.reason;
  }

  const closed = () => outbox.state === "stale";
  const answered = (place) => place.grade !== null || place.flag !== null;
  const firstOpen = () => places.findIndex((place) => !answered(place));

  // The clip -------------------------------------------------------------------------------------------
  function load(index) {
    const place = places[index];
    if (!place || !place.clip || videos.has(index)) return;
    const video = document.createElement("video");
    Object.assign(video, { src: place.clip, muted: true, loop: true, playsInline: true, preload: "auto" });
    video.hidden = true;
    video.tabIndex = -1;
    video.addEventListener("error", () => {
      if (videos.get(index) !== video) return; // unloaded meanwhile
      place.broken = true;
      if (index === at) showAbsence();
    });
    video.addEventListener("timeupdate", () => index === at && showTime(video));
    videos.set(index, video);
    $("stage").append(video);
  }

  function unload(index) {
    const video = videos.get(index);
    video.removeAttribute("src");
    video.load();
    video.remove();
    videos.delete(index);
  }

  function show(index) {
    if (submitting || closed()) return;
    at = index;
    since = performance.now();
    if (places[at].broken) forget(at); // it failed before, perhaps without network: try again
    page.classList.remove("over");
    window.scrollTo(0, 0);
    $("summary").hidden = true;
    $("reasons").hidden = true;
    $("flag").setAttribute("aria-expanded", "false");
    for (const key of [...videos.keys()]) if (key < at - 1 || key > at + AHEAD) unload(key);
    load(at);
    for (const [key, video] of videos) if (key !== at) video.pause();
    showAbsence();
    play();
    for (let ahead = 1; ahead <= AHEAD; ahead++) load(at + ahead);
    load(at - 1);
    $("position").textContent = `${at + 1} / ${places.length}`;
    $("back").disabled = at === 0;
    showGrade();
  }

  // The present clip, or why there is none.
  function showAbsence() {
    const { clip, broken } = places[at];
    for (const [key, video] of videos) video.hidden = key !== at || Boolean(broken);
    $("absent").hidden = Boolean(clip) && !broken;
    $("bar").hidden = !$("absent").hidden;
    $("absent").textContent = clip
      ? "This clip does not load. Try again with r, or flag it with f."
      : "This clip is missing. Flag it with f and go on.";
  }

  function play() {
    const video = videos.get(at);
    if (!video) return;
    video.playbackRate = speed;
    video.currentTime = 0;
    video.play().catch(() => {}); // refused until the first click or key in the page; then it plays
    showPause(false);
  }

  function showTime(video) {
    if (!video.duration) return;
    $("time").value = video.currentTime / video.duration;
    $("clock").textContent = `${clock(video.currentTime)} / ${clock(video.duration)}`;
  }

  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const showPause = (paused) => ($("pause").firstChild.textContent = paused ? "Play " : "Pause ");

  function pause() {
    const video = videos.get(at);
    if (!video) return;
    if (video.paused) video.play().catch(() => {});
    else video.pause();
    showPause(video.paused);
  }

  function faster() {
    speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    $("speed").firstChild.textContent = `${String(speed).replace("0.5", "½")}× `;
    if (videos.has(at)) videos.get(at).playbackRate = speed;
  }

  function forget(index) {
    places[index].broken = false;
    if (videos.has(index)) unload(index);
  }

  const retry = () => places[at].broken && show(at);
  window.addEventListener("online", retry);

  // Saying something -----------------------------------------------------------------------------------
  function showGrade() {
    for (const button of document.querySelectorAll("[data-grade]"))
      button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === places[at].grade));
    $("flag").classList.toggle("set", places[at].flag !== null);
  }

  function blink(button) {
    button.classList.remove("blink");
    void button.offsetWidth; // begins the animation anew
    button.classList.add("blink");
  }

  function grade(value) {
    if (page.classList.contains("over") || closed() || readingOnPhone()) return;
    const body = { grade: value, seconds: Math.min(86400, (performance.now() - since) / 1000) };
    put("judgements", body);
    blink(document.querySelector(`[data-grade="${value}"]`));
    next();
  }

  const readingOnPhone = () => !$("guideline").hidden && window.innerWidth < 800; // it covers everything

  function flag(reason) {
    if (closed()) return;
    put("flags", { reason, comment: "" });
    next();
  }

  function put(what, body) {
    say(places[at], what, body);
    outbox.add({ what, position: at + 1, body });
  }

  // To the next open place, those before it last; with none left, to the summary.
  function next() {
    const later = places.findIndex((place, index) => index > at && !answered(place));
    const open = later < 0 ? firstOpen() : later;
    if (open < 0) summary();
    else show(open);
  }

  function openReasons() {
    const open = $("reasons").hidden;
    $("reasons").hidden = !open;
    $("flag").setAttribute("aria-expanded", String(open));
    if (open) $("reasons").querySelector("button").focus();
  }

  // The end of the batch -------------------------------------------------------------------------------
  function summary() {
    for (const video of videos.values()) video.pause();
    page.classList.add("over");
    $("summary").hidden = false;
    const open = places.filter((place) => !answered(place)).length;
    $("summary-words").textContent = open
      ? `${open} of ${places.length} still to judge`
      : `All ${places.length} judged. Change what you like, then submit.`;
    $("strip").replaceChildren(...places.map(strip));
    showSubmit();
    if (!open) $("submit").focus();
  }

  function strip(place, index) {
    const entry = document.createElement("li");
    const button = document.createElement("button");
    const flagged = place.flag !== null ? "⚑" : "";
    const said = `${place.grade ?? ""}${flagged}` || "–";
    const words = [place.grade !== null && `grade ${place.grade}`, flagged && "flagged"].filter(Boolean);
    button.innerHTML = "<span></span><strong></strong>";
    button.firstChild.textContent = index + 1;
    button.lastChild.textContent = said;
    button.setAttribute("aria-label", `Clip ${index + 1}: ${words.join(", ") || "not judged"}`);
    button.className = answered(place) ? "" : "open";
    button.addEventListener("click", () => show(index));
    entry.append(button);
    return entry;
  }

  const showSubmit = () => ($("submit").disabled = submitting || firstOpen() >= 0 || outbox.state === "stale");

  async function submit() {
    submitting = true;
    showSubmit();
    $("submit").textContent = "Sending…";
    const answer = (await outbox.drained()) && (await outbox.request("POST", `${page.dataset.here}submit`, { fence: outbox.fence }));
    if (answer && answer.ok) return void (window.location.href = page.dataset.home);
    const problem = answer ? await answer.json().catch(() => ({})) : {};
    if (problem.code === "stale" && (await outbox.resume())) return submit();
    submitting = false;
    if (outbox.state !== "stale") $("summary-words").textContent = problem.detail || "No network right now. Your grades are kept here; submit again in a moment.";
    $("submit").textContent = "Submit the batch";
    showSubmit();
  }

  function showState(box) {
    const waiting = box.entries().length;
    const words = {
      saved: "saved ✓",
      sending: "saving…",
      offline: `kept here, sending… (${waiting})`,
      "signed out": `kept here (${waiting}): sign in again in another tab`,
      closed: `kept here (${waiting}): this batch is closed to you just now`,
      stale: "closed",
      refused: box.refusal,
    }[box.state];
    $("saved").textContent = words;
    $("saved").className = `saved ${box.state.replace(" ", "-")}`;
    if (closed()) showClosed(waiting);
    showSubmit();
  }

  // Nothing more can be said here: submitted in another tab, or gone to others after a long absence.
  function showClosed(waiting) {
    summary();
    const lost = waiting ? ` What you said last (${waiting}) was not counted.` : "";
    $("summary-words").textContent = `This batch is closed to you: it is submitted, or went to others while you were away.${lost}`;
    $("strip").hidden = $("submit").hidden = true;
  }

  // What another tab says of the same batch holds here too.
  window.addEventListener("storage", ({ key, newValue }) => {
    if (!key || !key.startsWith(outbox.prefix) || !newValue) return;
    const { what, position, body } = JSON.parse(newValue);
    say(places[position - 1], what, body);
    if (page.classList.contains("over")) summary();
    else showGrade();
  });

  // Keys and buttons -----------------------------------------------------------------------------------
  function openGuideline(open = $("guideline").hidden) {
    $("guideline").hidden = !open;
    $("help").setAttribute("aria-expanded", String(open));
  }

  const keys = {
    ArrowLeft: () => (page.classList.contains("over") ? show(at) : at > 0 && show(at - 1)),
    ArrowRight: () => answered(places[at]) && (at + 1 < places.length ? show(at + 1) : summary()),
    " ": pause,
    s: faster,
    f: openReasons,
    a: () => (page.classList.contains("over") ? show(at) : summary()),
    r: retry,
    "?": () => openGuideline(),
    Escape: () => (openGuideline(false), ($("reasons").hidden = true)),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const onButton = event.target.matches("button, a") && (event.key === " " || event.key === "Enter");
    if (onButton) return;
    if (/^[0-4]$/.test(event.key)) grade(Number(event.key));
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });

  const clicks = {
    back: () => keys.ArrowLeft(),
    flag: openReasons,
    overview: () => keys.a(),
    pause,
    speed: faster,
    help: () => openGuideline(),
    "close-guideline": () => openGuideline(false),
    submit,
  };
  for (const [id, does] of Object.entries(clicks)) $(id).addEventListener("click", does);
  for (const button of document.querySelectorAll("[data-grade]"))
    button.addEventListener("click", () => (button.blur(), grade(Number(button.dataset.grade))));
  for (const button of document.querySelectorAll("[data-reason]"))
    button.addEventListener("click", () => flag(button.dataset.reason));

  if (firstOpen() < 0) {
    show(0);
    summary();
  } else show(firstOpen());
  outbox.send();
})();
