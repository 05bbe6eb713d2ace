// Active time: seconds in which the page is visible and its person is there. Between two signs of her (a key, the
// pointer, a touch, the clip's first two loops) at most a cap is counted; docs/method.md says why. Nothing is counted in
// a break. Who gives no sign for minutes has had one, too.
"use strict";

class ActiveTime {
  static CAP = 60; // seconds
  static BREAK = 300; // seconds without a sign, after which there was a break

  constructor(now = () => performance.now()) {
    this.now = now; // milliseconds
    this.seconds = 0;
    this.since = 0; // seconds since a break
    this.resting = false;
    this.last = now(); // when she last gave a sign; null while the page is hidden, or in a break
    this.left = null; // when the page was hidden
  }

  sign() {
    if (this.last === null) return;
    const now = this.now();
    const passed = Math.max(0, now - this.last) / 1000;
    this.seconds += Math.min(ActiveTime.CAP, passed);
    this.since = passed < ActiveTime.BREAK ? this.since + Math.min(ActiveTime.CAP, passed) : 0;
    this.last = now;
  }

  hide() {
    this.sign();
    this.left ??= this.now();
    this.last = null;
  }

  show() {
    this.sign();
    if (this.left !== null && this.now() - this.left >= 1000 * ActiveTime.BREAK) this.since = 0;
    this.left = null;
    if (!this.resting) this.last = this.now();
  }

  // Begin a break. It ends with `wake`.
  rest() {
    this.sign();
    this.resting = true;
    this.last = null;
    this.since = 0;
  }

  wake() {
    this.resting = false;
    this.show();
  }

  // The seconds since they were taken last.
  take() {
    this.sign();
    const taken = this.seconds;
    this.seconds = 0;
    return taken;
  }
}
