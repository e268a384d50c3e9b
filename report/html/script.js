"use strict";
(() => {
  const one = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => Array.from(r.querySelectorAll(s));
  const dock = one("#dock"), help = one("#help"), filter = one("#filter"), keys = one("#keys");
  const word = dock.dataset; // the words of the page, in its language
  const fill = (text, values) => text.replace(/\{(\w)\}/g, (_, k) => values[k]);
  const articles = all("article.ev");
  const marks = new Map(); // passage number to its marks
  for (const m of all("mark.m")) {
    const e = m.dataset.e;
    if (!marks.has(e)) marks.set(e, []);
    marks.get(e).push(m);
  }
  let current = ""; // number of the passage shown; empty: none
  let only = null; // {source, passages}: one source's passages are shown
  let opener = null; // where the focus was before the comparison opened

  const bar = document.createElement("div");
  bar.className = "bar2";
  const where = document.createElement("span");
  where.setAttribute("role", "status");
  const button = (text, f) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", f);
    return b;
  };
  bar.append(where, button(word.previous, () => step(-1)), button(word.next, () => step(1)), button(word.close, close));
  const body = document.createElement("div");
  dock.append(bar, body);

  const inOrder = (a, b) => a.localeCompare(b, "en", { numeric: true }); // 2, 7, 7b, 10
  const open = articles.filter((a) => !a.closest(".rest"));
  // sequence returns the passages that one walks: those that count, or all if none does.
  const sequence = () => only ? only.passages : (open.length ? open : articles).map((a) => a.dataset.e).sort(inOrder);

  function paint() {
    for (const [e, ms] of marks) {
      for (const m of ms) {
        m.classList.toggle("on", e === current);
        m.classList.toggle("dim", only !== null && !only.set.has(e));
      }
    }
    for (const a of all(".map a")) a.classList.toggle("on", a.getAttribute("href") === "#m" + current);
  }

  // show opens the comparison of passage e below the text and brings the passage into view.
  function show(e) {
    const article = one("#p" + e);
    if (!article) return;
    if (dock.hidden) opener = document.activeElement;
    current = e;
    const copy = article.cloneNode(true);
    copy.removeAttribute("id");
    for (const x of all("[id]", copy)) x.removeAttribute("id");
    copy.removeAttribute("aria-labelledby");
    if (only) {
      for (const p of all(".pair", copy)) p.open = p.dataset.s === only.source;
    }
    body.replaceChildren(copy);
    const s = sequence();
    where.textContent = fill(only ? word.among : word.where, { e, k: s.indexOf(e) + 1, n: s.length });
    dock.hidden = false;
    document.body.classList.add("docked");
    dock.scrollTop = 0;
    paint();
    const number = one("#m" + e);
    if (number) {
      number.focus({ preventScroll: true });
      const room = window.innerHeight - dock.offsetHeight;
      window.scrollBy({ top: number.getBoundingClientRect().top - room / 3 });
    }
  }

  function step(by) {
    const s = sequence();
    if (s.length === 0) return;
    const at = s.indexOf(current);
    let next = at + by;
    if (at < 0) next = by > 0 ? Math.max(0, s.findIndex((e) => inOrder(e, current) > 0)) : s.findLastIndex((e) => current === "" || inOrder(e, current) < 0);
    show(s[(next + s.length) % s.length]);
  }

  function close() {
    dock.hidden = true;
    document.body.classList.remove("docked");
    current = "";
    paint();
    if (opener && opener.isConnected) opener.focus({ preventScroll: true });
  }

  function choose(li) {
    const source = li && li.dataset.s;
    if (!li || (only && only.source === source)) {
      only = null;
    } else {
      const passages = all("a[data-e]", li).map((a) => a.dataset.e).sort(inOrder);
      only = { source, passages, set: new Set(passages) };
    }
    for (const b of all(".ranked button")) b.setAttribute("aria-pressed", String(only !== null && b.closest("li").dataset.s === only.source));
    paint();
  }

  function narrow() {
    const want = filter.value.trim().toLocaleLowerCase();
    let n = 0;
    const items = all(".ranked > li");
    for (const li of items) {
      li.hidden = want !== "" && !(one("h3", li).textContent + " " + one(".place", li).textContent).toLocaleLowerCase().includes(want);
      if (!li.hidden) n++;
    }
    for (const fold of all("#sources .rest")) fold.open = want !== "";
    one("#filter-n").textContent = want === "" ? "" : fill(word.filtered, { k: n, n: items.length });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.closest("#dock")) return;
    if (link && link.closest(".no, .map") && /^#[mp][0-9]+[a-z]*$/.test(link.getAttribute("href"))) {
      event.preventDefault();
      show(link.getAttribute("href").slice(2));
      return;
    }
    const mark = event.target.closest("mark.m");
    if (mark && !link && String(window.getSelection()) === "") show(mark.dataset.e);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === "Escape") {
      if (!dock.hidden) close();
      else if (only) choose(null);
      else if (filter && filter.value !== "") { filter.value = ""; narrow(); }
      return;
    }
    if (!keys.checked || event.target.closest("input, textarea, select")) return;
    switch (event.key) {
      case "n": step(1); break;
      case "p": step(-1); break;
      case "s": if (filter) { filter.focus(); filter.scrollIntoView({ block: "nearest" }); } break;
      case "?": help.showModal(); break;
      default: return;
    }
    event.preventDefault();
  });

  if (filter) {
    filter.addEventListener("input", narrow);
    filter.parentElement.hidden = false;
    for (const li of all(".ranked > li")) {
      if (one("a[data-e]", li) === null) continue;
      const b = button(word.only, () => choose(li));
      b.setAttribute("aria-pressed", "false");
      one(".links", li).before(b);
    }
  }
  one("nav").append(button(word.keyboard, () => help.showModal()));

  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const d of folded) d.open = true;
  });
  window.addEventListener("afterprint", () => { for (const d of folded) d.open = false; });
})();
