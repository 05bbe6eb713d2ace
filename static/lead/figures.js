// Draws each figure of the page from its address. Expressions are interpreted, so that no code is made of text.
// The light colours of the theme that all figures share give way to the colours that the page has now.
const TOKENS = {
  "#1d1f21": "--ink", "#ffffff": "--raised", "#dedbd5": "--line", "#0f6b66": "--accent", "#0b2422": "--on-g2",
  "#c9c6c0": "--g0", "#85bbad": "--g1", "#4f9b90": "--g2", "#1c6e68": "--g3", "#0a4644": "--g4",
  "#c8501e": "--c2", "#1f5fa8": "--c3", "#8a4fa3": "--c4", "#b58900": "--c5", "#6a8f2f": "--c6", "#a33b53": "--c7", "#6b7280": "--c8",
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("figures-changed", drawAll); // which an answer to htmx tells in a header
drawAll();

function drawAll() {
  for (const place of document.querySelectorAll("[data-figure]")) draw(place);
}

function shaded(specification) {
  const page = getComputedStyle(document.documentElement);
  const now = (colour) => page.getPropertyValue(TOKENS[colour.toLowerCase()] ?? "").trim() || colour;
  return specification.replace(/#[0-9a-f]{6}\b/gi, now);
}

// Drawings one above the other have no size of their own: each gets its part of the room beside the axes.
// Small ones side by side are as many as have room in a line.
function fit(specification, width, height) {
  if (specification.facet) return (specification.columns = Math.max(1, Math.floor((width - 160) / 172)));
  if (!specification.vconcat) return Object.assign(specification, { width, height });
  const whole = specification.vconcat.reduce((sum, part) => sum + part.height, 0);
  for (const part of specification.vconcat) {
    for (const drawing of [part, ...(part.layer ?? [])]) drawing.width = width - 80;
    part.height = ((height - 80) * part.height) / whole;
  }
}

async function draw(place) {
  try {
    const answer = await fetch(place.dataset.figure, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    await document.fonts.load("13px 'Reeljudge Sans'"); // else the room of the words would be that of other letters
    const canvas = document.createElement("div");
    canvas.ariaHidden = "true"; // its place says what it shows, in words
    const specification = JSON.parse(shaded(await answer.text()));
    if ("fluid" in place.dataset) fit(specification, place.clientWidth, place.clientHeight);
    await window.vegaEmbed(canvas, specification, {
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: "svg",
      tooltip: { disableDefaultStyle: true },
    });
    const kept = place.querySelector(".place"); // an empty drawing, which gives the box its size for good
    place.replaceChildren(...(kept ? [kept] : []), canvas);
  } catch (fault) {
    const words = document.createElement("p");
    words.textContent = "The figure could not be drawn here; its files and numbers are below.";
    place.replaceChildren(words);
    throw fault;
  }
}
