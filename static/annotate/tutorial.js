// The tutorial: the workplace's keys on its pages. Each step and each answer is a page of its own.
"use strict";

(() => {
  if (document.getElementById("stage")) play();

  // The clip that is tried has the workplace's stage and bar.
  function play() {
    const stage = new Stage({
      box: $("stage"),
      first: $("clip"),
      clips: [$("clip").getAttribute("src")],
      sound: "sound" in $("workplace").dataset,
      enough: 0,
      told: (what) => told[what](),
    });
    const bar = new Bar();
    const told = {
      absent: () => {},
      load: () => bar.showLoading(),
      time: () => bar.showTime(),
      pause: () => bar.showPause(),
    };
    const clicks = {
      pause: () => stage.pause(),
      replay: () => stage.play(),
      again: () => stage.rewindBy(2),
      "frame-back": () => stage.step(-1),
      "frame-on": () => stage.step(1),
      speed: () => bar.faster(),
      full: fullScreen,
      sound: () => bar.hear(),
    };
    bar.take(stage);
    for (const [id, does] of Object.entries(clicks))
      $(id).addEventListener("click", ({ detail }) => {
        if (detail) $(id).blur(); // space pauses again and presses no button
        does();
      });
    stage.show(0);
  }

  document.addEventListener("keydown", (event) => {
    if (event.repeat) return;
    const own = event.target.matches("button, a, summary, video") && (event.key === " " || event.key === "Enter");
    if (own) return;
    const wanted = document.querySelector(`[data-key="${CSS.escape(keyOf(event))}"]`);
    if (!wanted || wanted.hidden) return;
    event.preventDefault();
    wanted.click();
  });
})();
