/* The form that a colleague fills in without a server: one item at a time, saved in the browser, handed back as a file. */
"use strict";
(() => {
  const page = document.querySelector("[data-form]");
  const forms = [...document.querySelectorAll("form.item")];
  const byId = new Map(forms.map((form) => [form.id, form]));
  const at = (id) => document.getElementById(id);
  const key = `ragstone labels ${page.dataset.form}`;
  const words = page.dataset;
  const MOST = 500; // steps that can be undone
  const empty = () => ({ value: "", spans: [], comment: "", seconds: 0, when: 0 });
  let state = { expert: page.dataset.expert, item: forms[0].id, answers: {}, history: [] };

  const say = (text) => { at("said").textContent = text; };
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const answer = (id) => state.answers[id] ?? empty();
  const same = (a, b) => a.value === b.value && a.comment === b.comment && JSON.stringify(a.spans) === JSON.stringify(b.spans);

  function read(form) {
    const fields = form.elements;
    return {
      value: fields.value.value, comment: fields.comment.value.trim(), seconds: Number(fields.seconds.value),
      spans: fields.spans ? JSON.parse(fields.spans.value || "[]") : [],
    };
  }

  function write(form, { value, spans, comment, seconds }) {
    const fields = form.elements;
    for (const radio of fields.value) radio.checked = radio.value === value;
    fields.comment.value = comment;
    fields.seconds.value = seconds;
    if (fields.spans) fields.spans.value = JSON.stringify(spans);
    form.dispatchEvent(new Event("labelling:show"));
  }

  function keep() {
    try {
      localStorage.setItem(key, JSON.stringify(state));
      return true;
    } catch {
      say(words.notKept);
      return false;
    }
  }

  function restore() {
    try {
      const kept = JSON.parse(localStorage.getItem(key) || "null");
      if (!kept || !byId.has(kept.item)) return;
      state = { ...state, ...kept };
      for (const [id, found] of Object.entries(state.answers)) if (byId.has(id)) write(byId.get(id), found);
      if (Object.keys(state.answers).length) say(words.resumed);
    } catch {
      say(words.notKept);
    }
  }

  function count() {
    const done = forms.filter((form) => answer(form.id).value).length;
    at("done").textContent = filled(words.progress, { done, total: forms.length });
    at("bar").value = done;
    at("undo").disabled = !state.history.length;
    at("first-open").disabled = done === forms.length;
    return done;
  }

  function show(id, focus = true) {
    document.dispatchEvent(new Event("labelling:leave"));
    state.item = id;
    for (const form of forms) form.hidden = form.id !== id;
    const place = forms.findIndex((form) => form.id === id);
    at("previous").disabled = place === 0;
    at("next").disabled = place === forms.length - 1;
    at("where").textContent = filled(words.where, { n: place + 1, total: forms.length });
    count();
    keep();
    if (focus) {
      scrollTo(0, 0);
      forms[place].querySelector("h2").focus({ preventScroll: true });
    }
  }

  const step = (by) => {
    const next = forms[forms.findIndex((form) => form.id === state.item) + by];
    if (next) show(next.id);
  };

  /* A choice, a mark or a finished comment: a step that can be undone. */
  function changed(form) {
    const id = form.id, before = answer(id), now = read(form);
    if (same(before, now)) return;
    state.history = [...state.history, { id, before }].slice(-MOST);
    state.answers[id] = { ...now, when: Date.now() / 1000 };
    count();
    if (keep()) say("");
  }

  function undo() {
    const last = state.history.pop();
    if (!last) return;
    const { seconds } = read(byId.get(last.id));
    state.answers[last.id] = { ...last.before, seconds };
    write(byId.get(last.id), state.answers[last.id]);
    show(last.id);
    say(words.undone);
  }

  function save() {
    const name = at("expert");
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    if (!name.value.trim()) { name.focus(); say(words.nameMissing); return; }
    const labels = forms.filter((form) => answer(form.id).value).map((form) => ({
      item: form.dataset.item, task: form.dataset.task, ...answer(form.id), seconds: read(form).seconds,
    }));
    const open = forms.filter((form) => !answer(form.id).value && (answer(form.id).comment || answer(form.id).spans.length));
    const saved = { format: page.dataset.format, version: 1, form: page.dataset.form, expert: name.value.trim(), labels };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1)], { type: "application/json" }));
    link.download = `${page.dataset.file}-${saved.expert.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40)}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    const said = filled(words.saved, { file: link.download, done: count(), total: forms.length });
    say(open.length ? `${said} ${filled(words.undecided, { n: open.length })}` : said);
  }

  for (const form of forms) {
    form.addEventListener("change", () => changed(form));
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  restore();
  at("expert").value = state.expert;
  at("expert").addEventListener("input", () => { state.expert = at("expert").value; keep(); });
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  at("undo").addEventListener("click", undo);
  at("save").addEventListener("click", save);
  at("first-open").addEventListener("click", () => show(forms.find((form) => !answer(form.id).value).id));
  addEventListener("pagehide", () => {
    const form = byId.get(state.item);
    changed(form);
    if (state.answers[state.item]) state.answers[state.item].seconds = read(form).seconds;
    keep();
  });
  show(state.item, false);
  document.body.classList.add("ready");
})();
