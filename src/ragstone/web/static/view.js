"use strict";
// Keys: j and k move through rows, Enter opens the row, / goes to the search, n and p turn pages, u goes up, c to
// the cases of a run, ? shows keys.
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
    c: () => follow("[data-cases]"),
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
  // After a search the keys move through what was found.
  document.addEventListener("submit", (event) => { if (event.target.matches(".search")) document.activeElement?.blur(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#keys-button")) toggleKeys();
  });

  // Progress of runs: the server sends a line for each; what is out of date is fetched anew, unless it is being read.
  function listen(address, place, stale) {
    const source = new EventSource(address);
    source.addEventListener("progress", (event) => {
      const message = JSON.parse(event.data);
      const target = place(message.run);
      if (target) target.innerHTML = message.html;
    });
    const left = new Set(new URL(address, location).searchParams.getAll("run"));
    source.addEventListener("change", (event) => stale(JSON.parse(event.data).run));
    source.addEventListener("finished", (event) => {
      left.delete(JSON.parse(event.data).run);
      if (!left.size) source.close();
    });
    addEventListener("pagehide", () => source.close(), { once: true });
  }

  const busy = () => document.querySelector("main details[open]") || document.activeElement?.closest("main");
  const one = document.querySelector("#progress[data-events]");
  if (one) {
    const refresh = () => { if (!busy()) htmx.ajax("GET", location.href, { source: "main", target: "main", select: "main", swap: "outerHTML" }); };
    listen(one.dataset.events, () => document.getElementById("progress"), refresh);
  }
  const list = document.querySelector("[data-events-of-rows]");
  if (list) {
    const rowOf = (name) => [...document.querySelectorAll("[data-run]")].find((row) => row.dataset.run === name);
    const live = [...document.querySelectorAll("[data-run] .progress")].slice(0, 20).map((line) => line.closest("[data-run]").dataset.run);
    if (live.length) {
      const address = new URL(list.dataset.eventsOfRows, location);
      for (const name of live) address.searchParams.append("run", name);
      listen(address.href, (name) => rowOf(name)?.querySelector("[data-progress]"), () => {});
    }
  }
})();
