"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = data.words;
  const PAGE = 100;
  const [ID, NAME, SEARCH, SCORE, STATE, MARKS, IDEAS, FLAGS, CHANGED, SECONDS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const collator = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? values[key] : whole));
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== "") element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const failures = (row) => row[MARKS].split("f").length - 1;
  const columns = [
    { key: "name", by: (a, b) => collator.compare(a[NAME], b[NAME]) || collator.compare(a[ID], b[ID]), first: 1 },
    { key: "score", by: (a, b) => a[SCORE] - b[SCORE], first: -1, number: true },
    { key: "state", by: (a, b) => a[STATE] - b[STATE], first: -1 },
    { key: "checks", by: (a, b) => failures(a) - failures(b), first: -1 },
    { key: "diagnosis", by: (a, b) => a[IDEAS].length - b[IDEAS].length || (a[IDEAS][0] ?? -1) - (b[IDEAS][0] ?? -1), first: -1 },
    { key: "flags", by: (a, b) => a[FLAGS].length - b[FLAGS].length, first: -1 },
    { key: "changed", by: (a, b) => a[CHANGED] - b[CHANGED], first: 1, number: true },
    { key: "seconds", by: (a, b) => a[SECONDS] - b[SECONDS], first: -1, number: true },
  ];
  for (const row of data.rows) row.text = `${row[NAME]} ${row[ID]} ${row[SEARCH]}`.toLocaleLowerCase();

  const number = (value) => String(Math.round(value * 100) / 100).replace("-", "−");
  let sorted = { column: columns[0], direction: 1 };
  let page = 0;
  let rows = data.rows;

  const controls = make("div", "", { class: "controls", role: "search" });
  const search = make("input", "", { type: "search", placeholder: words.search, "aria-label": words.search });
  const choice = (any, options) => {
    const select = make("select", "", { "aria-label": any });
    select.append(make("option", any, { value: "" }));
    options.forEach(([value, text]) => select.append(make("option", text, { value })));
    if (options.length) controls.append(select);
    return select;
  };
  controls.append(search);
  const present = new Set(data.rows.map((row) => row[STATE]));
  const byState = choice(words.any_state, data.states.map(([, text], at) => [at, text]).filter(([at]) => present.has(at)));
  const byIdea = choice(words.any_misconception, data.misconceptions.map((text, at) => [at, text]));
  const byCheck = choice(words.any_check, data.checks.map((title, at) => [at, fill(words.failed_check, { title: `${title} (${data.ids[at]})` })]));
  const byFlag = choice(words.any_flag, data.flags.map((flag, at) => [at, fill(words.flagged, { flag })]));
  const reset = make("button", words.reset, { type: "button" });
  controls.append(reset);

  const status = make("p", "", { class: "meta", role: "status" });
  const table = make("table", "", { class: "students" });
  const head = make("tr", "");
  const body = make("tbody", "");
  columns.forEach((column) => {
    const cell = make("th", "", { scope: "col", "aria-sort": "none" });
    if (column.number) cell.className = "n";
    const button = make("button", words[column.key], { type: "button" });
    button.addEventListener("click", () => {
      sorted = { column, direction: sorted.column === column ? -sorted.direction : column.first };
      update();
    });
    cell.append(button);
    head.append(cell);
    column.cell = cell;
  });
  table.append(make("thead", ""), body);
  table.tHead.append(head);
  const scroll = make("div", "", { class: "scroll", tabindex: "0", role: "group", "aria-labelledby": "students" });
  scroll.append(table);
  const pages = make("div", "", { class: "pages" });
  const previous = make("button", words.previous, { type: "button" });
  const next = make("button", words.next, { type: "button" });
  const range = make("span", "", { class: "meta" });
  pages.append(previous, range, next);
  document.getElementById("table").append(controls, status, scroll, pages);

  const address = (row) => `${data.folder}/${encodeURIComponent(row[ID])}.html`;
  const line = (row) => {
    const element = make("tr", "");
    const name = make("th", "", { scope: "row" });
    name.append(make("a", row[NAME], { href: address(row) }));
    if (row[NAME] !== row[ID]) name.append(" ", make("small", row[ID]));
    const failed = [...row[MARKS]].flatMap((mark, at) => (mark === "f" ? [data.ids[at]] : []));
    const cells = make("span", "", {
      class: "cells",
      role: "img",
      "aria-label": failed.length ? fill(words.failed_list, { titles: failed.join(", ") }) : words.all_passed,
    });
    [...row[MARKS]].forEach((mark, at) => {
      if (mark !== " ") cells.append(make("i", mark === "f" ? "✗" : mark === "e" ? "!" : "", { class: mark, title: data.ids[at] }));
    });
    const checks = make("td", "");
    if (row[MARKS].trim()) checks.append(cells);
    const [state, text] = data.states[row[STATE]];
    element.append(
      name,
      make("td", number(row[SCORE]), { class: "n" }),
      make("td", text, { class: `state ${state}` }),
      checks,
      make("td", row[IDEAS].map((at) => data.misconceptions[at]).join("; "), { class: "ideas" }),
      make("td", row[FLAGS].map((at) => data.flags[at]).join(", "), { class: "flags" }),
      make("td", row[CHANGED] ? (row[CHANGED] > 0 ? "+" : "") + number(row[CHANGED]) : "", { class: "n" }),
      make("td", row[SECONDS].toFixed(2), { class: "n" }),
    );
    return element;
  };
  const draw = (all) => {
    const from = all ? 0 : page * PAGE;
    const to = all ? rows.length : Math.min(rows.length, from + PAGE);
    body.replaceChildren(...rows.slice(from, to).map(line));
    range.textContent = fill(words.range, { from: rows.length ? from + 1 : 0, to });
    previous.disabled = page === 0;
    next.disabled = to >= rows.length;
    pages.hidden = rows.length <= PAGE;
    status.textContent = rows.length ? fill(words.shown, { shown: rows.length, total: data.rows.length }) : words.none;
  };
  const update = () => {
    const typed = search.value.trim().toLocaleLowerCase();
    const [state, idea, check, flag] = [byState, byIdea, byCheck, byFlag].map((select) => (select.value === "" ? null : Number(select.value)));
    rows = data.rows.filter(
      (row) =>
        (!typed || row.text.includes(typed)) &&
        (state === null || row[STATE] === state) &&
        (idea === null || row[IDEAS].includes(idea)) &&
        (check === null || row[MARKS][check] === "f") &&
        (flag === null || row[FLAGS].includes(flag)),
    );
    rows.sort((a, b) => sorted.direction * sorted.column.by(a, b) || columns[0].by(a, b));
    for (const column of columns) {
      column.cell.setAttribute("aria-sort", column !== sorted.column ? "none" : sorted.direction > 0 ? "ascending" : "descending");
    }
    page = 0;
    draw(false);
  };
  const clear = () => {
    for (const control of [search, byState, byIdea, byCheck, byFlag]) control.value = "";
  };
  const turn = (step) => {
    page += step;
    draw(false);
    document.getElementById("students").scrollIntoView();
  };
  search.addEventListener("input", update);
  for (const select of [byState, byIdea, byCheck, byFlag]) select.addEventListener("change", update);
  reset.addEventListener("click", () => {
    clear();
    update();
  });
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  window.addEventListener("beforeprint", () => draw(true));
  window.addEventListener("afterprint", () => draw(false));

  // The buttons beside counts set the filter and go to the table.
  const show = (select, value) => {
    clear();
    select.value = value;
    update();
    document.getElementById("students").scrollIntoView();
  };
  const wire = (key, select, valueOf) => {
    for (const button of document.querySelectorAll(`[data-${key}]`)) {
      button.hidden = false;
      button.addEventListener("click", () => show(select, String(valueOf(button.dataset[key]))));
    }
  };
  wire("state", byState, (name) => data.states.findIndex(([state]) => state === name));
  wire("misconception", byIdea, (id) => data.misconception_ids.indexOf(id));
  wire("check", byCheck, (at) => at);
  wire("flag", byFlag, (id) => data.flags.indexOf(id));
  update();
})();
