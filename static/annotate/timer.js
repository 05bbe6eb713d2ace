// Active time: seconds in which the page is visible and its person is there. Between two signs of her (a key, the
// pointer, a touch, the clip's first two loops) at most a cap is counted; docs/method.md says why.
"use strict";

class ActiveTime {
  static CAP = 60; // seconds

  constructor(now = () => performance.now()) {
    this.now = now; // milliseconds
    this.seconds = 0;
    this.last = now(); // when she last gave a sign; null while the page is hidden
  }

  sign() {
    if (this.last === null) return;
    const now = this.now();
    this.seconds += Math.min(ActiveTime.CAP, Math.max(0, now - this.last) / 1000);
    this.last = now;
  }

  hide() {
    this.sign();
    this.last = null;
  }

  show() {
    this.sign();
    this.last = this.now();
  }

  // The seconds since they were taken last.
  take() {
    this.sign();
    const taken = this.seconds;
    this.seconds = 0;
    return taken;
  }
}
