// Uploading files in pieces. Each piece is sent with the place where it belongs and its checksum; after a break the server
// says where to go on. Nothing is lost when the page is left: the same file can be chosen again.
"use strict";

const PIECE = 1024 * 1024; // bytes; the server reads no larger request
const WAITS = [1, 2, 4, 8, 15, 30]; // seconds between attempts, while there is no answer

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const pause = (seconds) => new Promise((go) => setTimeout(go, 1000 * seconds));
const token = () => document.querySelector("[name=csrfmiddlewaretoken]").value;

// Browsers compute checksums on HTTPS and on this machine only.
const checksum = async (bytes) => (crypto.subtle ? { "Upload-Checksum": `sha256 ${hex(await crypto.subtle.digest("SHA-256", bytes))}` } : {});

// The answer to a request, asked again while there is none; an error with the server's words if it refuses.
const ask = async (address, options, wait) => {
  for (let attempt = 0; ; attempt += 1) {
    let answer = null;
    try {
      answer = await fetch(address, { ...options, headers: { Accept: "application/json", "X-CSRFToken": token(), ...options.headers } });
    } catch {
      // No network: asked again below.
    }
    if (answer && (answer.ok || (answer.status === 409 && options.method === "PATCH"))) return answer.json();
    if (answer && answer.status < 500) throw new Error((await answer.json().catch(() => ({}))).detail || `The server answers ${answer.status}.`);
    if (answer && answer.status === 507) throw new Error((await answer.json()).detail);
    const seconds = WAITS[Math.min(attempt, WAITS.length - 1)];
    wait(`No answer. Trying again in ${seconds} s.`);
    await pause(seconds);
  }
};

const line = (list, file) => {
  list.querySelectorAll("li").forEach((each) => each.dataset.name === file.name && each.remove());
  const made = document.createElement("li");
  made.dataset.name = file.name;
  const [name, bar, said] = ["span", "progress", "span"].map((kind) => made.appendChild(document.createElement(kind)));
  [name.textContent, bar.max, bar.value] = [file.name, file.size, 0];
  bar.setAttribute("aria-label", file.name);
  said.className = "n";
  list.append(made);
  return (sent, words) => {
    bar.value = sent;
    said.textContent = words;
  };
};

// The first file of a run makes its submission: what else is sent goes there, and empty fields are filled from the file.
const follow = (form, { page, upload_to: address, fields }) => {
  form.action = page;
  form.querySelectorAll(".uploads").forEach((section) => (section.dataset.address = address));
  for (const [name, value] of Object.entries(fields)) form.elements[name].value ||= value;
  window.history.replaceState(null, "", page);
};

const send = async (section, file) => {
  const list = section.querySelector("ul");
  const { address, purpose } = section.dataset;
  const told = { purpose, name: file.name, size: file.size };
  const first = { method: "POST", body: JSON.stringify(told), headers: { "Content-Type": "application/json" } };
  let state = await ask(address, first, () => {});
  if (state.page) follow(section.closest("form"), state);
  if (!section.querySelector("input[type=file]").multiple) list.replaceChildren(); // one file, which replaces the one before
  const show = line(list, file);
  const began = performance.now();
  const from = state.received;
  while (!state.whole) {
    const bytes = await file.slice(state.received, state.received + PIECE).arrayBuffer();
    const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(state.received), ...(await checksum(bytes)) };
    const percent = () => Math.floor((100 * state.received) / file.size);
    state = { ...state, ...(await ask(state.address, { method: "PATCH", body: bytes, headers }, (words) => show(state.received, `${percent()} %. ${words}`))) };
    const left = ((file.size - state.received) * (performance.now() - began)) / 1000 / Math.max(1, state.received - from);
    show(state.received, left > 5 ? `${percent()} %, about ${left > 90 ? `${Math.round(left / 60)} min` : `${Math.round(left)} s`} left` : `${percent()} %`);
  }
  show(file.size, "✓");
};

document.querySelectorAll(".uploads").forEach((section) => {
  const input = section.querySelector("input[type=file]");
  const fault = section.querySelector("[role=alert]");
  let busy = false;
  input.disabled = false;
  input.addEventListener("change", async () => {
    const form = section.closest("form");
    [fault.hidden, busy, input.disabled] = [true, true, true];
    form.querySelector("button.primary").disabled = true;
    for (const file of Array.from(input.files)) {
      try {
        await send(section, file);
      } catch (error) {
        fault.textContent = `${file.name}: ${error.message}`;
        fault.hidden = false;
        break;
      }
    }
    [input.value, input.disabled, busy] = ["", false, false];
    section.dispatchEvent(new CustomEvent("arrived", { bubbles: true })); // the page asks what is in the file
    form.querySelector("button.primary").disabled = false;
  });
  window.addEventListener("beforeunload", (event) => busy && event.preventDefault());
});
