"use strict";
// Keeps every change of an item at once, in order; links and buttons wait until it is kept.
(() => {
  const form = document.querySelector("form.item");
  const desk = form?.closest(".desk");
  if (!form || !desk) return;
  const said = document.getElementById("said");
  let pending = Promise.resolve(true), open = 0;

  async function send(body) {
    try {
      const answer = await fetch(form.action, { method: "POST", body, redirect: "error" });
      said.textContent = answer.ok ? desk.dataset.kept : desk.dataset.failed;
      return answer.ok;
    } catch {
      said.textContent = desk.dataset.failed;
      return false;
    }
  }

  form.addEventListener("change", () => {
    const fields = new URLSearchParams(new FormData(form));
    if (!fields.get("value")) return;
    fields.set("stay", "1");
    open += 1;
    pending = pending.then(() => send(fields)).finally(() => { open -= 1; });
  });

  // A comment that is being written is finished first.
  document.addEventListener("click", (event) => {
    const target = event.target.closest("a[href], button:not([type=button])");
    if (!target || event.defaultPrevented || !desk.contains(target)) return;
    if (form.contains(document.activeElement) && document.activeElement.matches("textarea")) document.activeElement.blur();
    if (!open) return;
    event.preventDefault();
    pending.then(() => target.click());
  });
})();
