// The stage: the clip that is watched, and those before and after it, loaded before they are needed. The network is the
// present clip's until it moves; then the others are fetched whole, so that a lost network stops nobody within a batch.
"use strict";

class Stage {
  static AROUND = 2; // clips beside the present one that are decoded
  static STOCK = 96 * 1024 * 1024; // bytes of clips kept ahead at most
  static CARRIERS = 2; // clips fetched at the same time, where the line is quick
  static QUICK = 2000; // milliseconds in which a clip comes there
  static FRAME = 1 / 25; // seconds, until a clip has shown its own
  static LEAD = 0.9; // of the first frame is over when a clip begins: it moves the sooner
  static STALL = 250; // milliseconds without another picture, after which a clip does not count as moving

  // `box` is the element; `first` a video in it that the page came with; `clips` the addresses or null; `told` hears
  // "absent", "load", "time", "pause" and, when a clip is kept here, "whole". `enough` is how many milliseconds a clip
  // must have been moving before it is judged.
  constructor({ box, first = null, clips, sound, enough, told }) {
    Object.assign(this, { box, first, clips, sound, enough, told });
    this.ending = new AbortController();
    this.videos = new Map(); // index → <video>
    this.whole = new Map(); // index → address and size in bytes of the whole clip, kept here
    this.broken = new Set();
    this.pictured = new Set(); // those of which there was a picture to see; at a seek there may be none for a moment
    this.watched = new Set(); // those that played from beginning to end
    this.bytes = 0;
    this.busy = new Set(); // indexes on their way
    this.carriers = 1; // on a slow line the next clip has the line for itself
    this.refused = new Set(); // indexes that cannot be fetched whole; the element streams them
    this.speed = 1;
    this.frame = Stage.FRAME; // of the clips so far
    this.at = 0;
    this.hidden = false; // behind the list of all clips, or before its batch begins: nothing plays
    this.visit = 0; // how many times a clip was shown
    this.restore();
  }

  get video() {
    return this.videos.get(this.at);
  }

  get absent() {
    return !this.clips[this.at] || this.broken.has(this.at);
  }

  // Nobody can have seen anything of the present clip.
  get unseen() {
    return this.absent || !(this.pictured.has(this.at) || this.video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA);
  }

  // The present clip has not been moving for long enough since it came.
  get early() {
    return this.video.moved < this.enough;
  }

  // The share of the present clip that has come, as long as it cannot play; null when it can.
  get loaded() {
    if (this.absent || this.video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) return null;
    const { buffered, duration } = this.video;
    return buffered.length && duration ? buffered.end(buffered.length - 1) / duration : 0;
  }

  // The present clip moves, or is not to move yet, and can go on; or it does not come.
  get calm() {
    const moves = this.hidden || this.video?.moved > 0;
    return this.absent || (moves && this.video?.readyState === HTMLMediaElement.HAVE_ENOUGH_DATA);
  }

  // Where a clip that is here, or not to be had in one piece, can be read; null for one that is on its way.
  addressOf(index) {
    const streams = this.videos.has(index) || this.refused.has(index) || this.bytes >= Stage.STOCK;
    return this.whole.get(index)?.address ?? (streams ? this.clips[index] : null);
  }

  // Load a clip that will be shown, and after it the others.
  expect(index) {
    this.hidden = true;
    this.at = index;
    this.load(index);
    this.prepare(index);
  }

  // The batch is over: nothing is loaded or kept any more.
  dispose() {
    this.told = () => {};
    this.stop();
    this.ending.abort();
    for (const index of [...this.videos.keys()]) this.unload(index);
    for (const index of [...this.whole.keys()]) this.drop(index);
    this.clips = [];
  }

  // Make a clip the present one, playing from its beginning.
  show(index) {
    if (this.at !== index) this.video?.pause();
    this.hidden = false;
    this.at = index;
    if (this.broken.has(index)) this.unload(index); // it failed before, perhaps without network: try again
    this.load(index);
    for (const [key, video] of this.videos) video.classList.toggle("seen", key === index);
    this.play();
    this.watch();
    this.told("absent");
    setTimeout(() => this.prepare(index)); // after the picture
  }

  prepare(index) {
    if (index !== this.at) return;
    const near = (key) => Math.abs(key - index) <= Stage.AROUND;
    for (const key of [...this.videos.keys()]) if (!near(key)) this.unload(key);
    for (const [key, video] of this.videos) if (key !== index) this.rewind(video);
    if (!this.calm) return;
    for (let step = 1; step <= Stage.AROUND; step++) {
      this.load(index + step);
      this.load(index - step);
    }
    for (let carrier = 0; carrier < this.carriers; carrier++) this.carry();
  }

  load(index) {
    if (!this.clips[index] || this.videos.has(index)) return;
    const comes = this.bytes < Stage.STOCK && !this.refused.has(index) && !this.whole.has(index);
    if (comes && index !== this.at) return; // whole, in a moment
    const video = this.element(this.whole.get(index)?.address || this.clips[index]);
    video.frame = Infinity;
    this.videos.set(index, video);
    this.listen(index, video);
    if (video.requestVideoFrameCallback) this.measureFrames(video);
    if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) this.pictured.add(index);
    if (video.error) this.failed(index, video);
  }

  // A new element for an address, or the one that the page came with.
  element(address) {
    const { first } = this;
    this.first = null;
    if (first?.getAttribute("src") === address) return first;
    if (first) this.discard(first);
    const video = document.createElement("video");
    Object.assign(video, { muted: !this.sound, loop: true, playsInline: true, preload: "auto", src: address });
    video.tabIndex = -1;
    this.box.append(video);
    return video;
  }

  listen(index, video) {
    const tell = (what) => () => index === this.at && this.told(what);
    video.addEventListener("loadedmetadata", () => (index === this.at && !this.hidden) || this.rewind(video));
    video.addEventListener("loadeddata", () => this.pictured.add(index));
    video.addEventListener("canplaythrough", () => this.prepare(index));
    video.addEventListener("error", () => this.failed(index, video));
    video.addEventListener("timeupdate", tell("time"));
    video.addEventListener("loadedmetadata", tell("time"));
    for (const kind of ["progress", "loadeddata", "waiting", "canplay", "playing"])
      video.addEventListener(kind, tell("load"));
  }

  failed(index, video) {
    if (this.videos.get(index) !== video) return; // unloaded meanwhile
    const shown = index === this.at && !this.hidden;
    if (this.whole.has(index)) {
      const streamed = video.getAttribute("src") === this.clips[index]; // the network failed, and the clip is here
      if (streamed) return this.unload(index), void (shown && this.show(index));
      this.drop(index);
    }
    this.broken.add(index);
    if (index !== this.at) return;
    this.told("absent");
    this.prepare(index);
  }

  // What was kept whole is no clip, it seems. It comes anew when it is tried again.
  drop(index) {
    const { address, size } = this.whole.get(index);
    URL.revokeObjectURL(address);
    this.bytes -= size;
    this.whole.delete(index);
    this.refused.add(index);
  }

  unload(index) {
    this.broken.delete(index);
    const video = this.videos.get(index);
    if (!video) return;
    this.discard(video);
    this.videos.delete(index);
  }

  discard(video) {
    video.removeAttribute("src");
    video.load(); // nothing more of it comes
    video.remove();
  }

  // Fetch a clip that is not here yet; then the next one.
  async carry() {
    const index = this.wanted();
    if (index === undefined) return;
    this.busy.add(index);
    const began = performance.now();
    try {
      const answer = await fetch(this.clips[index], { signal: this.ending.signal });
      const type = answer.headers.get("Content-Type") || "";
      if (!answer.ok || !type.startsWith("video/")) throw new Error(answer.statusText); // the page to sign in, say
      const clip = await answer.blob();
      this.carriers = performance.now() - began < Stage.QUICK ? Stage.CARRIERS : 1;
      this.keep(index, clip);
      if (this.broken.has(index) && index === this.at && !this.hidden) this.show(index);
    } catch {
      this.refused.add(index);
    }
    this.busy.delete(index);
    this.prepare(this.at);
  }

  keep(index, clip) {
    if (this.ending.signal.aborted || this.whole.has(index)) return;
    this.bytes += clip.size;
    this.whole.set(index, { address: URL.createObjectURL(clip), size: clip.size });
    this.told("whole");
  }

  // Take the clips that were loaded ahead (ahead.js). Without a network the present one may have come in part, play that
  // and wait for ever, so it begins anew from here.
  async restore() {
    if (!(await window.caches?.has("ahead"))) return;
    for (const index of [this.at, ...this.clips.keys()]) {
      const kept = this.clips[index] && (await caches.match(this.clips[index], { ignoreVary: true }));
      if (!kept) continue;
      this.keep(index, await kept.blob());
      if (index !== this.at || this.hidden || this.video?.src === this.whole.get(index)?.address) continue;
      this.unload(index);
      this.show(index);
    }
  }

  wanted() {
    if (this.bytes >= Stage.STOCK || this.busy.size >= this.carriers) return undefined;
    // Those to come, those gone by, and last the present one, of which the element has all that it needs.
    const late = (key) => (key !== this.at ? Number(key < this.at) : this.broken.has(key) ? 0 : 2);
    const order = [...this.clips.keys()].sort((a, b) => late(a) - late(b) || a - b);
    return order.find((key) => this.clips[key] && ![this.whole, this.busy, this.refused].some((some) => some.has(key)));
  }

  // The network is back, or she tries again: what was refused may come now.
  retry() {
    this.refused.clear();
    if (this.broken.has(this.at) && !this.hidden) this.show(this.at);
    else this.prepare(this.at);
  }

  // Count how long the present clip moves: its time goes on, and nobody has stopped it.
  watch() {
    const { video } = this;
    if (!video) return;
    const visit = ++this.visit;
    let [time, since] = [video.currentTime, performance.now()];
    video.moved = 0;
    const look = (now) => {
      if (visit !== this.visit) return;
      const before = video.moved;
      if (video.currentTime !== time && !video.paused) video.moved += Math.min(now - since, Stage.STALL);
      if (video.currentTime !== time || video.paused) [time, since] = [video.currentTime, now];
      if (video.moved && !before) this.prepare(this.at);
      if (!video.moved || video.moved < this.enough) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }

  play() {
    const { video } = this;
    if (!video) return;
    video.playbackRate = this.speed;
    this.rewind(video);
    this.resume();
  }

  // To the end of its first frame, which stands there until it is played.
  rewind(video) {
    if (Math.abs(video.currentTime - video.start) < 0.001) return;
    video.start = Stage.LEAD * this.frame;
    video.currentTime = video.start;
  }

  resume() {
    const { video } = this;
    video.play().catch((fault) => {
      if (fault.name !== "NotAllowedError" || video.muted) return;
      video.muted = true; // sound is refused until the first click or key in the page
      video.play().catch(() => {});
    });
    this.told("pause");
  }

  pause() {
    if (!this.video) return;
    if (this.video.paused) this.resume();
    else this.video.pause();
    this.told("pause");
  }

  stop() {
    this.hidden = true;
    this.visit += 1;
    for (const video of this.videos.values()) video.pause();
  }

  hear() {
    this.sound = this.video ? this.video.muted : !this.sound;
    for (const video of this.videos.values()) video.muted = !this.sound;
  }

  // To a share of the present clip's time.
  seek(share) {
    if (this.video?.duration) this.video.currentTime = Math.min(0.999, Math.max(0, share)) * this.video.duration;
  }

  // So many seconds back, and on from there.
  rewindBy(seconds) {
    const { video } = this;
    if (!video?.duration) return;
    video.currentTime = Math.max(Math.min(video.start ?? 0, video.duration), video.currentTime - seconds);
    if (video.paused) this.resume();
  }

  // One frame forwards or back, onto its middle, where rounding cannot move it to another.
  step(frames) {
    const { video } = this;
    if (!video || !video.duration) return;
    video.pause();
    const frame = Number.isFinite(video.frame) ? video.frame : Stage.FRAME;
    const last = Math.max(0, Math.round(video.duration / frame) - 1);
    const number = Math.floor(video.currentTime / frame + 1e-6) + frames;
    video.currentTime = (Math.min(last, Math.max(0, number)) + 0.5) * frame;
    this.told("pause");
  }

  // A frame lasts the shortest time that lies between two shown in turn.
  measureFrames(video) {
    let before;
    let seen = 0;
    const shown = (_, { mediaTime }) => {
      const gap = mediaTime - before;
      if (gap > 0.005 && gap < video.frame) this.frame = video.frame = gap;
      before = mediaTime;
      if (++seen < 50) video.requestVideoFrameCallback(shown);
    };
    video.requestVideoFrameCallback(shown);
  }

  // Whether the present clip played to its end once, however often it was stopped; what was skipped is not played.
  get playedOnce() {
    if (this.absent) return false;
    if (this.watched.has(this.at)) return true;
    const { duration, played, start = 0 } = this.video; // what lies before the start is not played at first
    let seconds = 0;
    for (let range = 0; range < played.length; range++) seconds += played.end(range) - played.start(range);
    if (!(seconds >= duration - start - Math.min(0.15, duration / 10))) return false;
    this.watched.add(this.at);
    return true;
  }
}
