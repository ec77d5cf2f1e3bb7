"use strict";
// Disclosures, the glossary and the choice of light or dark; all content is in the page already.
(() => {
  const buttons = [...document.querySelectorAll("button[aria-controls]")];
  const panelOf = (button) => document.getElementById(button.getAttribute("aria-controls"));

  function show(button, isOpen) {
    button.setAttribute("aria-expanded", String(isOpen));
    panelOf(button).hidden = !isOpen;
  }

  for (const button of buttons) {
    button.addEventListener("click", () => show(button, button.getAttribute("aria-expanded") !== "true"));
  }

  const all = document.getElementById("all");
  all.hidden = buttons.length < 2;
  all.addEventListener("click", () => {
    const isOpen = all.dataset.opens !== "false";
    for (const button of buttons) show(button, isOpen);
    all.dataset.opens = String(!isOpen);
    all.textContent = isOpen ? "Close all" : "Open all";
  });

  function openTarget() {
    const button = buttons.find((each) => each.dataset.field === location.hash.slice(1));
    if (button) show(button, true);
  }
  window.addEventListener("hashchange", openTarget);
  openTarget();

  // Plain words for a term, beneath it or above, wherever there is room.
  const gloss = document.getElementById("gloss");
  let explained = null;
  function explain(term) {
    explained = term;
    gloss.hidden = !term;
    if (!term) return;
    gloss.textContent = document.getElementById(term.getAttribute("aria-describedby")).textContent;
    const box = term.getBoundingClientRect(), page = document.documentElement;
    const right = page.clientWidth - gloss.offsetWidth - 8, isLow = box.bottom + gloss.offsetHeight + 12 > page.clientHeight;
    gloss.style.left = `${Math.max(8, Math.min(box.left, right))}px`;
    gloss.style.top = `${isLow ? box.top - gloss.offsetHeight - 6 : box.bottom + 6}px`;
  }
  for (const event of ["pointerover", "focusin", "click"]) {
    document.addEventListener(event, (told) => explain(told.target.closest(".term")));
  }
  document.addEventListener("focusout", () => explain(null));
  document.addEventListener("keydown", (told) => { if (told.key === "Escape") explain(null); });
  // The tab key scrolls, too: the words go with their term.
  window.addEventListener("scroll", () => explain(explained), { passive: true });

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const name = () => { theme.textContent = isDark() ? "Light page" : "Dark page"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();
})();
