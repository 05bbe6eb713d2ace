// A chosen file of names comes into the field above, where the lead reads what will be sent; no form sends a file.
"use strict";

for (const file of document.querySelectorAll("[data-into]"))
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (chosen) document.getElementById(file.dataset.into).value = (await chosen.text()).replace(/^\ufeff/, "");
  });
