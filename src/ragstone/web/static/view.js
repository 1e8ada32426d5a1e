"use strict";
// Keys: j and k move through rows, Enter opens the row, / goes to the search, n and p turn pages, u goes up, ? shows keys.
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const linkOf = (row) => row.matches("a") ? row : row.querySelector("a[href]");
  const follow = (selector) => document.querySelector(selector)?.click();

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const now = all.findIndex((row) => row.contains(document.activeElement));
    const next = all[Math.max(0, Math.min(all.length - 1, now < 0 ? (step > 0 ? 0 : all.length - 1) : now + step))];
    const target = linkOf(next) || next;
    target.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function toggleKeys() {
    const keys = document.getElementById("keys");
    const button = document.getElementById("keys-button");
    keys.hidden = !keys.hidden;
    button.setAttribute("aria-expanded", String(!keys.hidden));
  }

  const typing = (element) => element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  const actions = {
    j: () => move(1), k: () => move(-1), "?": toggleKeys, u: () => follow("[data-up]"),
    n: () => follow("[data-next]"), p: () => follow("[data-previous]"),
    "/": () => document.querySelector("input[type=search]")?.focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#keys-button")) toggleKeys();
  });
})();
