// The bar of the stage: how far the clip is, pause, speed and sound. A click on it leads to that time of the clip, and
// a click on the clip stops it and lets it go on. It is there while the pointer moves over the clip, and goes 2 s later.
"use strict";

class Bar {
  static SPEEDS = [1, 1.5, 2, 0.5];
  static AWAKE = 2000; // milliseconds without a move of the pointer
  static KEPT = "reeljudge-speed"; // where this browser keeps the speed for the next batch

  constructor() {
    const kept = Number(localStorage.getItem(Bar.KEPT));
    this.speed = Bar.SPEEDS.includes(kept) ? kept : 1;
    $("full").hidden = !document.fullscreenEnabled;
    $("stage").addEventListener("click", () => (this.stage.absent ? this.stage.retry() : this.stage.pause()));
    for (const kind of ["pointerdown", "pointermove"]) $("seek").addEventListener(kind, (event) => this.seek(event));
    $("theatre").addEventListener("pointermove", () => this.wake());
    $("theatre").addEventListener("pointerleave", () => this.sleep());
    this.showSpeed();
  }

  wake() {
    $("theatre").classList.add("awake");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.sleep(), Bar.AWAKE);
  }

  sleep() {
    clearTimeout(this.timer);
    $("theatre").classList.remove("awake");
  }

  // The stage of another batch, with the speed and the sound of the one before.
  take(stage) {
    if (this.stage) stage.sound = this.stage.sound;
    stage.speed = this.speed;
    this.stage = stage;
  }

  // The time of a clip that has not come yet is not that of the one before.
  showTime() {
    const { currentTime, duration, videoWidth, videoHeight } = this.stage.video || {};
    if (videoWidth) $("theatre").style.setProperty("--ratio", videoWidth / videoHeight);
    $("time").value = duration ? currentTime / duration : 0;
    $("clock").textContent = duration ? `${clock(currentTime)} / ${clock(duration)}` : "";
    this.showHalt();
  }

  showLoading() {
    const { loaded } = this.stage;
    $("loading").hidden = loaded === null;
    $("loading").textContent = word("comes", { percent: Math.round(100 * loaded) });
  }

  showPause() {
    const paused = Boolean(this.stage.video?.paused);
    label("pause", word(paused ? "play" : "pause"));
    $("theatre").classList.toggle("paused", paused);
    this.showHalt();
  }

  // Where the clip is stopped, outside the picture. The tutorial has no place for it.
  showHalt() {
    const { paused, currentTime } = this.stage.video || {};
    if ($("halted")) $("halted").textContent = paused && !this.stage.hidden ? word("halted", { time: clock(currentTime) }) : "";
  }

  showSpeed() {
    const speed = `${String(this.speed).replace("0.5", "½")}×`;
    label("speed", speed);
    $("speed").setAttribute("aria-label", word("speed", { speed }));
  }

  faster() {
    this.speed = this.stage.speed = Bar.SPEEDS[(Bar.SPEEDS.indexOf(this.speed) + 1) % Bar.SPEEDS.length];
    if (this.stage.video) this.stage.video.playbackRate = this.speed;
    localStorage.setItem(Bar.KEPT, this.speed);
    this.showSpeed();
  }

  hear() {
    this.stage.hear();
    label("sound", word(this.stage.sound ? "heard" : "muted"));
  }

  seek(event) {
    if (!(event.buttons & 1)) return;
    if (event.type === "pointerdown") $("seek").setPointerCapture(event.pointerId);
    const { left, width } = $("seek").getBoundingClientRect();
    this.stage.seek((event.clientX - left) / width);
    this.showTime();
  }
}
