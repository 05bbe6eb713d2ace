// Says that a passkey did not work; allauth's script only dispatches the error.
"use strict";

document.addEventListener("allauth.error", (event) => {
  event.preventDefault(); // it is no fault of the page, so it does not belong into the console
  const fault = document.getElementById("passkey-fault");
  if (fault) fault.hidden = false;
});
