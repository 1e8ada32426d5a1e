/* What an expert does with one item: mark spans of its text, choose with the keyboard, and the seconds it takes.

A form with the class "item" holds what is entered: radio buttons "value", hidden inputs "spans" and "seconds", and a
text field "comment". A span is {start, end, answer}: characters (Unicode code points) of the text as it was written, not
as it is shown, and the number of the answer. */
"use strict";
(() => {
  const IDLE = 60; // seconds without a movement or a key after which an expert is taken to be elsewhere
  const MOST = 50; // spans of a text
  const size = (text) => [...text].length;
  const shown = (element) => element.getClientRects().length > 0;

  /* A text in which spans are marked. Those of all texts of a form are in its input "spans". */
  class Subject {
    constructor(form, element) {
      this.form = form;
      this.element = element;
      this.answer = Number(element.dataset.answer);
      element.normalize();
      this.pieces = Array.from(element.childNodes, (node) => node.nodeType === Node.TEXT_NODE
        ? { characters: [...node.data] } : { sign: node.textContent, size: Number(node.dataset.size) });
      this.paint();
    }

    get all() {
      return JSON.parse(this.form.elements.spans.value || "[]");
    }

    get spans() {
      return this.all.filter((span) => span.answer === this.answer).map((span) => [span.start, span.end]);
    }

    set spans(spans) {
      const own = spans.map(([start, end]) => ({ start, end, answer: this.answer }));
      const all = [...this.all.filter((span) => span.answer !== this.answer), ...own];
      const input = this.form.elements.spans;
      input.value = JSON.stringify(all.sort((a, b) => a.answer - b.answer || a.start - b.start));
      this.paint();
      for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
    }

    /* The number of characters before a place of the selection. A replaced character is in or out as a whole. */
    offset(node, at, isEnd) {
      const before = document.createRange();
      before.setStart(this.element, 0);
      before.setEnd(node, at);
      const walker = document.createTreeWalker(this.element, NodeFilter.SHOW_TEXT);
      let total = 0;
      for (let leaf = walker.nextNode(); leaf; leaf = walker.nextNode()) {
        const sign = leaf.parentElement.closest(".sign");
        const whole = sign ? Number(sign.dataset.size) : size(leaf.data);
        if (leaf === node) return total + (sign ? ((isEnd ? at > 0 : at >= leaf.length) ? whole : 0) : size(leaf.data.slice(0, at)));
        if (before.comparePoint(leaf, 0) > 0) return total;
        total += whole;
      }
      return total;
    }

    /* The selection as [start, end], or null if there is none in this text. */
    selected() {
      const selection = getSelection();
      if (!selection.rangeCount || selection.isCollapsed) return null;
      const range = selection.getRangeAt(0).cloneRange();
      if (!range.intersectsNode(this.element)) return null;
      if (!this.element.contains(range.startContainer)) range.setStart(this.element, 0);
      if (!this.element.contains(range.endContainer)) range.setEnd(this.element, this.element.childNodes.length);
      let start = this.offset(range.startContainer, range.startOffset, false);
      let end = this.offset(range.endContainer, range.endOffset, true);
      const characters = this.characters();
      while (start < end && !characters[start].trim()) start += 1;
      while (end > start && !characters[end - 1].trim()) end -= 1;
      return start < end ? [start, end] : null;
    }

    /* One entry for each character of the text as it was written. */
    characters() {
      return this.pieces.flatMap((piece) => piece.characters
        || [piece.sign, ...Array(piece.size - 1).fill("")]);
    }

    /* Marks the selection; spans that overlap become one. A selection inside a mark takes the mark away. */
    mark() {
      const found = this.selected();
      if (!found) return false;
      let [start, end] = found;
      const rest = [];
      for (const [low, high] of this.spans) {
        if (low <= start && high >= end) { this.remove([low, high]); getSelection().removeAllRanges(); return true; }
        if (low < end && high > start) { start = Math.min(start, low); end = Math.max(end, high); } else rest.push([low, high]);
      }
      if (rest.length < MOST) this.spans = [...rest, [start, end]];
      getSelection().removeAllRanges();
      return true;
    }

    remove(span) {
      this.spans = this.spans.filter(([low, high]) => low !== span[0] || high !== span[1]);
    }

    paint() {
      const spans = this.spans;
      const index = (at) => spans.findIndex(([low, high]) => low <= at && at < high);
      this.element.replaceChildren();
      let at = 0, last = -1, into = this.element;
      const put = (node, span) => {
        if (span !== last) {
          into = this.element;
          if (span >= 0) this.element.append(into = document.createElement("mark"));
          last = span;
        }
        into.append(node);
      };
      for (const piece of this.pieces) {
        if (!piece.characters) {
          const sign = document.createElement("span");
          sign.className = "sign";
          sign.dataset.size = piece.size;
          sign.textContent = piece.sign;
          put(sign, index(at));
          at += piece.size;
          continue;
        }
        for (let from = 0; from < piece.characters.length;) {
          const span = index(at + from);
          const next = spans.flat().filter((edge) => edge > at + from).map((edge) => edge - at);
          const to = Math.min(piece.characters.length, ...next);
          put(document.createTextNode(piece.characters.slice(from, to).join("")), span);
          from = to;
        }
        at += piece.characters.length;
      }
    }

    quote(span) {
      const text = this.characters().slice(...span);
      return text.length > 80 ? `${text.slice(0, 79).join("")}…` : text.join("");
    }

    /* Arrow keys choose a word of the text, with shift more of them. */
    walk(event) {
      const forward = event.key === "ArrowRight" ? true : event.key === "ArrowLeft" ? false : null;
      if (forward === null) return;
      event.preventDefault();
      const selection = getSelection(), way = forward ? "forward" : "backward";
      if (!selection.rangeCount || !this.element.contains(selection.anchorNode)) {
        selection.collapse(this.element, forward ? 0 : this.element.childNodes.length);
      } else if (!event.shiftKey) {
        selection[forward ? "collapseToEnd" : "collapseToStart"]();
      }
      selection.modify("extend", way, "word");
      if (!this.element.contains(selection.focusNode)) selection.extend(this.element, forward ? this.element.childNodes.length : 0);
    }
  }

  /* The marks of a form as a list, each with a button that takes it away. */
  function list(form, subjects) {
    const marks = form.querySelector(".marks");
    marks.replaceChildren(...subjects.flatMap((subject) => subject.spans.map((span) => {
      const item = document.createElement("li"), quote = document.createElement("bdi"), button = document.createElement("button");
      quote.textContent = subject.quote(span);
      button.type = "button";
      button.textContent = "✕";
      button.setAttribute("aria-label", `${marks.dataset.remove}: ${quote.textContent}`);
      button.addEventListener("click", () => { subject.remove(span); subject.element.focus(); });
      item.append(quote, button);
      return item;
    })));
  }

  function prepare(form) {
    const subjects = Array.from(form.querySelectorAll(".subject"), (element) => new Subject(form, element));
    if (!subjects.length) return;
    for (const subject of subjects) subject.element.addEventListener("keydown", (event) => subject.walk(event));
    const button = form.querySelector("[data-mark]");
    button.addEventListener("mousedown", (event) => event.preventDefault()); // or the selection would be lost
    button.addEventListener("click", () => {
      if (subjects.some((subject) => subject.mark())) return;
      const at = subjects.findIndex((subject) => subject.element === document.activeElement);
      subjects[(at + 1) % subjects.length].element.focus();
    });
    form.addEventListener("labelling:show", () => { for (const subject of subjects) subject.paint(); });
    for (const kind of ["labelling:show", "input"]) form.addEventListener(kind, () => list(form, subjects));
    list(form, subjects);
  }

  /* Seconds in which an item was in front of a person who did something. */
  function clock() {
    let moved = performance.now(), last = moved;
    const tick = () => {
      const now = performance.now(), form = [...document.querySelectorAll("form.item")].find(shown);
      const until = Math.min(now, moved + IDLE * 1000);
      if (form && !document.hidden && until > last) {
        form.elements.seconds.value = (Number(form.elements.seconds.value) + (until - last) / 1000).toFixed(3);
      }
      last = now;
    };
    for (const kind of ["pointermove", "pointerdown", "keydown", "scroll", "input", "touchstart"]) {
      addEventListener(kind, () => { tick(); moved = performance.now(); }, { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => { last = performance.now(); });
    document.addEventListener("labelling:leave", tick);
    setInterval(tick, 1000);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const writing = event.target instanceof Element && event.target.matches("textarea, select, input:not([type=radio])");
    if (writing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const target = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)].find(shown);
    if (!target) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // keys of the page around it have another meaning
    if (target.matches("textarea")) target.focus(); else target.click();
  }

  for (const form of document.querySelectorAll("form.item")) prepare(form);
  addEventListener("keydown", pressed, { capture: true });
  clock();
})();
