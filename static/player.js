// Clips among words: a click on one or its button stops it and lets it go on, and its bar leads to another time.
"use strict";

(() => {
  const times = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const playerOf = (element) => element.closest?.(".player");

  function toggle(video) {
    if (video.paused) video.play().catch(() => {});
    else video.pause();
  }

  function fullScreen(player) {
    if (document.fullscreenElement) document.exitFullscreen();
    else player.requestFullscreen().catch(() => {});
  }

  function show({ target: video }) {
    const player = playerOf(video);
    if (!player || !video.duration) return;
    player.querySelector("progress").value = video.currentTime / video.duration;
    player.querySelector(".clock").textContent = `${times(video.currentTime)} / ${times(video.duration)}`;
    const button = player.querySelector("[data-does=pause]");
    if (player.classList.contains("playing") === !video.paused) return;
    player.classList.toggle("playing", !video.paused);
    [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
  }

  function press({ target }) {
    const player = playerOf(target);
    const what = target.closest("[data-does]")?.dataset.does;
    if (player && what === "full") fullScreen(player);
    else if (player && (what === "pause" || target.matches("video"))) toggle(player.querySelector("video"));
  }

  function seek(event) {
    const bar = event.target.closest?.(".player .seek");
    if (!bar || !(event.buttons & 1)) return;
    if (event.type === "pointerdown") bar.setPointerCapture(event.pointerId);
    const { left, width } = bar.getBoundingClientRect();
    const video = playerOf(bar).querySelector("video");
    const share = Math.min(0.999, Math.max(0, (event.clientX - left) / width));
    if (video.duration) video.currentTime = share * video.duration;
  }

  for (const kind of ["loadedmetadata", "timeupdate", "seeked", "play", "pause"])
    document.addEventListener(kind, show, { capture: true });
  for (const kind of ["pointerdown", "pointermove"]) document.addEventListener(kind, seek);
  document.addEventListener("click", press);
  for (const button of document.querySelectorAll("[data-does=full]")) button.hidden = !document.fullscreenEnabled;
})();
