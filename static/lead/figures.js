// Draws each figure of the page from its address. Expressions are interpreted, so that no code is made of text.
for (const place of document.querySelectorAll("[data-figure]")) draw(place);

async function draw(place) {
  try {
    const answer = await fetch(place.dataset.figure, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    const canvas = document.createElement("div");
    canvas.ariaHidden = "true"; // its place says what it shows, in words
    place.replaceChildren(canvas);
    await window.vegaEmbed(canvas, await answer.json(), {
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: "svg",
      tooltip: { disableDefaultStyle: true },
    });
  } catch (fault) {
    const words = document.createElement("p");
    words.textContent = "The figure could not be drawn here; its files and numbers are below.";
    place.replaceChildren(words);
    throw fault;
  }
}
