// Draws each figure of the page from its address. Expressions are interpreted, so that no code is made of text.
// In the dark, the colours of the theme that figures share give way to others in the same order from ground to ink.
const DARK = {
  "#ffffff": "#1d2022", "#22262b": "#e9e7e3", "#d9dde2": "#34393c",
  "#1f5fa8": "#6ea8e6", "#c8501e": "#f0905f", "#2f8f5b": "#5fc48d", "#8a4fa3": "#c793dd",
  "#b58900": "#d9b13c", "#3c9aa6": "#66c3cf", "#a33b53": "#e0809a", "#6b7280": "#a0a8b4",
  "#f1f4f8": "#22282c", "#d5d9de": "#3a4046", "#a9c6e2": "#2f567f", "#6d9fd0": "#4c86c0", "#3673b3": "#86b6e4", "#153f75": "#c4ddf5",
};
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", drawAll);
document.addEventListener("figures-changed", drawAll); // which an answer to htmx tells in a header
drawAll();

function drawAll() {
  for (const place of document.querySelectorAll("[data-figure]")) draw(place);
}

function shaded(specification) {
  return dark.matches ? specification.replace(/#[0-9a-f]{6}\b/gi, (colour) => DARK[colour.toLowerCase()] ?? colour) : specification;
}

async function draw(place) {
  try {
    const answer = await fetch(place.dataset.figure, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    const canvas = document.createElement("div");
    canvas.ariaHidden = "true"; // its place says what it shows, in words
    await window.vegaEmbed(canvas, JSON.parse(shaded(await answer.text())), {
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: "svg",
      tooltip: { disableDefaultStyle: true },
    });
    place.replaceChildren(canvas); // an empty drawing of the same size kept its place until now
  } catch (fault) {
    const words = document.createElement("p");
    words.textContent = "The figure could not be drawn here; its files and numbers are below.";
    place.replaceChildren(words);
    throw fault;
  }
}
