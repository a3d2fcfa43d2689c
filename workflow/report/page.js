// What the page does beyond showing: tables are sorted, copied and filtered, cases browsed, things found.
// Everything but the cases can be read without this script. It loads nothing and stores nothing.
"use strict";

// Without a document: what is written, ordered and found. Tests call these.
const logic = (() => {
  const words = (said) => said.toLowerCase().split(/\s+/).filter(Boolean);
  const holds = (content, wanted) => wanted.every((word) => content.includes(word));

  // Positions of the keys in order; missing ones ("") last either way, equal ones as they were.
  function order(keys, down) {
    const given = keys.filter((key) => key !== "");
    const numbers = given.every((key) => Number.isFinite(Number(key)));
    const compare = (a, b) => (numbers ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true }));
    return keys.map((_, place) => place).sort((a, b) => {
      const missing = (keys[a] === "") - (keys[b] === "");
      return missing || (down ? -1 : 1) * (keys[a] === "" ? 0 : compare(keys[a], keys[b])) || a - b;
    });
  }

  // As the files of the run are written: LF, quotes where they are needed.
  function csv(rows) {
    const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    return rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");
  }

  const MARKS = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}" };
  const escaped = (cell) => (cell === "" ? "--" : cell.replace(/[\\~^<>|&%$#_{}]/g, (mark) => MARKS[mark] ?? `\\${mark}`));

  // A tabular that needs no package. What rests on simulated judges says so in its first line.
  function latex({ head, body, numbers, basis, file }) {
    const line = (row) => `${row.map(escaped).join(" & ")} \\\\`;
    return [
      ...(file ? [`% ${file}, rounded as in the report`] : []),
      `\\begin{tabular}{${head.map((_, place) => (numbers.includes(place + 1) ? "r" : "l")).join("")}}`,
      "\\hline",
      ...(basis ? [`\\multicolumn{${head.length}}{l}{${basis}: rests on simulated judges} \\\\`] : []),
      line(head),
      "\\hline",
      ...body.map(line),
      "\\hline",
      "\\end{tabular}",
      "",
    ].join("\n");
  }

  const NUMBER = /^#?\d+$/;
  const content = (one) => [one.stratum, one.gold, one.claim, ...(one.evidence ?? [])].join(" ").toLowerCase();

  const isNumber = (one, word) => NUMBER.test(word) && one.id === Number(word.replace("#", ""));

  // A number is the case's own, or stands in its text; after the word "case" it is the case's own.
  function finds(one, wanted) {
    const named = wanted.includes("case") && wanted.some((word) => NUMBER.test(word));
    return wanted.every((word) => isNumber(one, word)
      || (named ? word === "case" || (!NUMBER.test(word) && content(one).includes(word)) : content(one).includes(word)));
  }

  const chosen = (cases, { text = "", gold = "", tags = [] }) => cases.filter((one) => finds(one, words(text))
    && (!gold || one.gold === gold) && tags.every((tag) => one.tags.includes(tag)));

  // What a decision makes of the panel's proposal.
  function effect(name, decision, proposal) {
    if (name === "validator") return "its own verdict";
    if (decision === proposal) return "keeps the proposal";
    return decision === "no_commit" ? "withholds it" : `turns it to ${decision}`;
  }

  // Which block (from 0) an id cites: -1 one that is not there, null where the ids or the number of blocks are not told.
  function cited(id, blocks) {
    if (blocks === null || id.startsWith("(")) return null;
    const number = Number(/^E(\d+)$/.exec(id)?.[1]);
    return number >= 1 && number <= blocks ? number - 1 : -1;
  }

  return { words, holds, order, csv, latex, finds, chosen, effect, cited };
})();
if (typeof module !== "undefined") module.exports = logic;

if (typeof document !== "undefined") (() => {
  const status = document.getElementById("status");
  const say = (said) => { status.textContent = ""; setTimeout(() => { status.textContent = said; }, 50); };

  // make("a", { href: "#x", class: "y", onclick: f }, child, ...): attributes as in HTML, listeners by their on-names.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(key.slice(2), value);
      else if (value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }
  const button = (label, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, label);

  // --- tables ---------------------------------------------------------------------------------------------------
  const rowsOf = (table) => [...table.tBodies[0].rows];
  const headOf = (table) => [...table.tHead.rows[0].cells];
  const filed = (cell) => cell.dataset.v ?? cell.textContent; // the file's value where another is shown

  function sorter(table) {
    const first = rowsOf(table);
    return (column) => {
      const heading = headOf(table)[column];
      const now = heading.getAttribute("aria-sort");
      const next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
      for (const other of headOf(table)) other.removeAttribute("aria-sort");
      if (next) heading.setAttribute("aria-sort", next);
      const rows = next ? rowsOf(table) : first;
      const places = next ? logic.order(rows.map((row) => filed(row.cells[column])), next === "descending") : rows.keys();
      table.tBodies[0].append(...Array.from(places, (place) => rows[place]));
      say(next ? `sorted by ${heading.textContent}, ${next}` : "in the order of the file");
    };
  }

  function content(table, value) {
    const rows = rowsOf(table).filter((row) => !row.hidden);
    return { head: headOf(table).map((cell) => cell.textContent), body: rows.map((row) => Array.from(row.cells, value)) };
  }

  function csvOf(table) {
    const { head, body } = content(table, filed);
    const basis = table.dataset.basis;
    return logic.csv(basis ? [[...head, "basis"], ...body.map((row) => [...row, basis])] : [head, ...body]);
  }

  function latexOf(table) {
    const numbers = (table.dataset.n ?? "").split(" ").map(Number);
    const { basis, file } = table.dataset;
    return logic.latex({ ...content(table, (cell) => cell.textContent), numbers, basis, file });
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // no clipboard for this page: the old way, then by hand
      const area = make("textarea", { readonly: true, "aria-label": what });
      area.value = text;
      const box = make("dialog", { class: "by-hand" }, make("p", {}, "Copy with Ctrl+C, then close with Escape."), area);
      document.body.append(box);
      box.showModal();
      area.select();
      box.addEventListener("close", () => box.remove());
      if (!document.execCommand("copy")) return;
      box.close();
    }
    say(`${what} copied`);
  }

  function narrowed(table, box, more = () => true) {
    let contents;
    return () => {
      contents ??= new Map(rowsOf(table).map((row) => [row, row.textContent.toLowerCase()]));
      const wanted = logic.words(box.value);
      let left = 0;
      for (const [row, said] of contents) {
        row.hidden = !(logic.holds(said, wanted) && more(row));
        left += !row.hidden;
      }
      say(`${left} of ${contents.size} rows`);
    };
  }

  // Headings become buttons that sort; above the table stand a filter (where rows are many) and what copies it.
  function enhance(table, controls = []) {
    const sort = sorter(table);
    headOf(table).forEach((heading, column) => {
      heading.replaceChildren(button(heading.textContent, () => sort(column), { class: "sort" }));
    });
    const bar = make("p", { class: "filters" }, ...controls);
    const box = make("input", { type: "search", autocomplete: "off" });
    if (rowsOf(table).length > 8 && !table.closest(".record")) bar.append(make("label", {}, "Rows with ", box));
    for (const [kind, write] of [["CSV", csvOf], ["LaTeX", latexOf]]) {
      bar.append(button(`Copy ${kind}`, () => {
        const rows = rowsOf(table).filter((row) => !row.hidden).length;
        copy(write(table), `${rows} rows as ${kind}`);
      }));
    }
    table.closest(".scroll").before(bar);
    return box;
  }

  function audit(table) {
    const filters = document.getElementById("audit-filters");
    const choices = [...filters.querySelectorAll("select")];
    const column = { status: 0, where: 1, study: 8 };
    const own = (row, name) => row.cells[column[name]].textContent.replace(" (got worse)", "");
    const box = enhance(table, [...filters.children]);
    filters.remove();
    const apply = narrowed(table, box, (row) => choices.every((one) => !one.value || own(row, one.name) === one.value));
    for (const control of [box, ...choices]) control.addEventListener("input", apply);
  }

  function equip(table) {
    if (table.id === "audit-table") { audit(table); return; }
    const box = enhance(table);
    box.addEventListener("input", narrowed(table, box));
  }

  // What is closed gets its buttons when it is first opened.
  for (const table of document.querySelectorAll("table.data")) {
    const holder = table.closest("details:not([open])");
    if (holder) holder.addEventListener("toggle", () => equip(table), { once: true });
    else equip(table);
  }

  // --- cases ----------------------------------------------------------------------------------------------------
  const LABELS = { cpo: "CPO", arithmetic: "arithmetic-dependent" };
  const label = (tag) => LABELS[tag] ?? tag;

  class Browser {
    constructor(section) {
      this.name = section.id.replace(/-cases$/, "");
      this.data = JSON.parse(section.querySelector("script").textContent);
      this.cases = this.data.cases;
      this.controls();
      this.list = make("ul", { class: "list", role: "listbox", "aria-label": `Cases of ${this.name}`, onkeydown: (event) => this.key(event) });
      this.record = make("article", { class: "record", tabindex: -1, "aria-label": "Case" });
      this.count = make("p", { class: "count" });
      const steps = make("p", { class: "steps" }, button("Previous", () => this.step(-1)), button("Next", () => this.step(1)), this.count);
      section.append(
        make("p", { class: "filters" }, make("label", {}, "Find ", this.search), make("label", {}, "Gold ", this.gold)),
        make("div", { class: "chips", role: "group", "aria-label": "Only cases that have all of" }, make("span", {}, "Only:"), ...this.chips),
        make("p", { class: "aside" }, "In the list: arrows or j and k, Home, End, Enter to read. The address names the case that is open."),
        make("div", { class: "browser" }, make("div", { class: "left" }, steps, this.list), this.record),
      );
      section.classList.add("built");
      this.filter();
    }

    controls() {
      const changed = { oninput: () => this.filter() };
      const golds = [...new Set(this.cases.map((one) => one.gold))].sort();
      this.search = make("input", { type: "search", autocomplete: "off", placeholder: this.data.text ? "number, or words of the case" : "number or stratum", ...changed });
      this.gold = make("select", changed, make("option", { value: "" }, "all"), ...golds.map((gold) => make("option", { value: gold }, gold)));
      this.chips = Object.entries(this.data.tags).map(([tag, meaning]) => make("label", { title: meaning, class: "chip" },
        make("input", { type: "checkbox", value: tag, ...changed }),
        `${label(tag)} (${this.cases.filter((one) => one.tags.includes(tag)).length})`, make("span", { class: "away" }, `: ${meaning}`)));
      this.boxes = this.chips.map((chip) => chip.firstChild);
    }

    filter() {
      const tags = this.boxes.filter((box) => box.checked).map((box) => box.value);
      this.shown = logic.chosen(this.cases, { text: this.search.value, gold: this.gold.value, tags });
      this.items = new Map(this.shown.map((one) => [one, this.item(one)]));
      this.list.replaceChildren(...this.items.values());
      if (this.shown.length) this.choose(this.shown.includes(this.now) ? this.now : this.shown[0]);
      else { this.now = undefined; this.record.replaceChildren(make("p", {}, "No case has all of this.")); this.tell(); }
      say(`${this.shown.length} of ${this.cases.length} cases`);
    }

    item(one) {
      const mark = [one.gold, ...(one.panel ? [`panel: ${one.panel}`] : []), ...one.tags.map(label)].join(" · ");
      return make("li", { role: "option", tabindex: -1, "aria-selected": "false", onclick: () => this.choose(one, true) },
        make("b", {}, `${one.id}`), " ", make("span", { class: "claim" }, one.claim ?? one.stratum), make("span", { class: "mark" }, mark));
    }

    tell() {
      const place = this.shown.indexOf(this.now) + 1;
      this.count.textContent = `${place ? `${place} of ` : ""}${this.shown.length} cases${this.shown.length < this.cases.length ? ` (${this.cases.length} in all)` : ""}`;
    }

    choose(one, byHand = false) {
      const before = this.items.get(this.now);
      if (before) { before.setAttribute("aria-selected", "false"); before.tabIndex = -1; }
      this.now = one;
      const item = this.items.get(one);
      item.setAttribute("aria-selected", "true");
      item.tabIndex = 0;
      // within the list only: the page stays where it is
      const [top, bottom] = [item.offsetTop, item.offsetTop + item.offsetHeight];
      if (top < this.list.scrollTop) this.list.scrollTop = top;
      else if (bottom > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = bottom - this.list.clientHeight;
      if (byHand) item.focus({ preventScroll: true });
      if (byHand || location.hash.startsWith(`#${this.name}-case-`)) this.address(one);
      this.show(one);
      this.tell();
    }

    step(by) {
      const next = this.shown[Math.min(this.shown.length - 1, Math.max(0, this.shown.indexOf(this.now) + by))];
      const focus = document.activeElement;
      if (!next) return;
      this.choose(next, true);
      if (!this.list.contains(focus)) { focus.focus({ preventScroll: true }); say(`case ${next.id}`); }
    }

    key(event) {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || (step === undefined && event.key !== "Enter")) return;
      event.preventDefault();
      if (step === undefined) { this.record.focus(); this.record.scrollIntoView({ block: "nearest" }); } else this.step(step);
    }

    // A case by its number, whatever the filters say.
    open(id) {
      const one = this.cases.find((each) => each.id === id);
      if (!one) { say(`${this.name} has no case ${id}`); return; }
      if (!this.shown.includes(one)) {
        this.search.value = this.gold.value = "";
        for (const box of this.boxes) box.checked = false;
        this.filter();
      }
      this.choose(one);
      this.address(one);
    }

    address(one) {
      history.replaceState(null, "", `#${this.name}-case-${one.id}`);
    }

    show(one) {
      const basis = this.data.basis ? [" ", make("strong", { class: "basis" }, this.data.basis)] : [];
      this.blocks = (one.evidence ?? []).map((block, place) => make("li", { class: "evidence", tabindex: -1 }, make("b", {}, `E${place + 1}`), ` ${block}`));
      this.record.replaceChildren(
        make("h4", {}, `Case ${one.id}`, ...basis),
        ...(one.claim === undefined ? [] : [make("blockquote", {}, one.claim)]),
        this.summary(one),
        ...this.evidence(one),
        make("h5", {}, "Judges"),
        this.judges(one),
        ...one.answers.filter((answer) => answer.subclaims).flatMap((answer) => this.certificate(one, answer)),
        ...this.controllers(one),
      );
      for (const table of this.record.querySelectorAll("table.data")) enhance(table);
    }

    summary(one) {
      const facts = [["Gold", one.gold], ["Stratum", one.stratum]];
      if (one.panel) {
        const floats = one.tags.includes("arithmetic") ? `; in floats ${one.float_mean}` : "";
        const about = one.mean?.includes("/") ? ` (about ${Number(one.float_mean).toFixed(4)})` : "";
        facts.push(["Typed panel", one.panel], ["Mean confidence", one.mean ? `${one.mean}${about}${floats}` : "none stated"]);
      }
      for (const [name, decision] of Object.entries(one.panels)) facts.push([name, decision]);
      if (one.mixed !== undefined) facts.push(["Flags", [one.mixed && "material mixed", one.insufficient && "material insufficient"].filter(Boolean).join(", ") || "none"]);
      if (one.tags.length) facts.push(["This case is", one.tags.map(label).join(", ")]);
      return make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    }

    evidence(one) {
      if (!this.data.text) return one.blocks === null ? [] : [make("p", { class: "aside" }, `Evidence: ${one.blocks} ${one.blocks === 1 ? "block" : "blocks"}, not shown.`)];
      if (!this.blocks.length) return [make("p", { class: "aside" }, one.blocks === null ? "The source carries no evidence." : "No evidence was provided.")];
      return [make("h5", {}, "Evidence"), make("ol", { class: "blocks" }, ...this.blocks)];
    }

    table(what, one, head, rows) {
      const kinds = { Reasoning: "prose", Rationale: "prose", Subclaim: "prose", Parsing: "cites", Cites: "cites" };
      const row = (kind, cells) => make("tr", {}, ...cells.map((cell, place) => make(kind,
        kind === "th" ? { scope: "col" } : { class: kinds[head[place]] ?? false }, ...[cell ?? ""].flat())));
      const body = rows.map((cells) => row("td", cells));
      const table = make("table", { class: "data", "data-basis": this.data.basis ?? false }, make("caption", { class: "away" }, `${what} of case ${one.id} ${this.data.basis ?? ""}`),
        make("thead", {}, row("th", head)), make("tbody", {}, ...body));
      return [make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": what }, table), body];
    }

    judges(one) {
      const inPanel = ({ arm, judge }) => this.data.panel?.arm === arm && this.data.panel.judges.includes(judge);
      const verdict = (answer) => make("b", { class: answer.verdict === one.gold ? "right" : "" }, answer.verdict ?? "none");
      const said = this.data.text ? ["Reasoning"] : [];
      const [table] = this.table("Judges", one, ["Judge", "Arm", "Verdict", "Confidence", ...said, "Typed panel", "Parsing"], one.answers.map((answer) => [
        `${answer.judge}${answer.round ? ` round ${answer.round}` : ""}${answer.replicate ? ` #${answer.replicate}` : ""}`, answer.arm, verdict(answer), answer.confidence,
        ...(said.length ? [answer.said] : []), inPanel(answer) ? "yes" : "no", answer.status ?? "ok"]));
      return table;
    }

    certificate(one, answer) {
      const texts = this.data.text;
      const cite = (id) => {
        const place = logic.cited(id, one.blocks);
        const block = this.blocks[place];
        if (block) return button(id, () => { block.focus(); block.scrollIntoView({ block: "nearest" }); }, { class: "cite" });
        return place === -1 ? `${id} (no such block)` : id;
      };
      const [table, rows] = this.table("Certificate", one, [...(texts ? ["Subclaim"] : []), "State", "Material", "Cites", ...(texts ? ["Rationale"] : [])],
        answer.subclaims.map((item) => [...(texts ? [item.text] : []), make("b", {}, item.state), item.material ? "yes" : "no",
          item.cites.map((id, place) => make("span", { class: "one" }, cite(id), place + 1 < item.cites.length ? ", " : "")), ...(texts ? [item.rationale] : [])]));
      rows.forEach((row, place) => {
        const light = (on) => () => { for (const id of answer.subclaims[place].cites) this.blocks[id.slice(1) - 1]?.classList.toggle("cited", on); };
        for (const [event, on] of [["mouseenter", true], ["focusin", true], ["mouseleave", false], ["focusout", false]]) row.addEventListener(event, light(on));
      });
      const stated = answer.stated && answer.stated !== answer.verdict ? `; the model itself states ${answer.stated}` : "";
      return [make("h5", {}, `Certificate of ${answer.judge}`), make("p", { class: "aside" }, `It amounts to ${answer.verdict ?? "no verdict"}${stated}.`), table];
    }

    controllers(one) {
      const found = Object.entries(one.controllers);
      if (!found.length) return [];
      const [table, rows] = this.table("Controllers", one, ["Controller", "Decision", "On the panel's proposal", "In floats"],
        found.map(([name, [exact, floats]]) => [name, make("b", { class: exact === one.gold ? "right" : "" }, exact), logic.effect(name, exact, one.panel), floats ?? "the same"]));
      found.forEach(([name, [exact, floats]], place) => {
        rows[place].classList.toggle("acts", name !== "validator" && exact !== one.panel);
        rows[place].classList.toggle("differs", floats !== undefined);
      });
      return [make("h5", {}, "Controllers"), make("p", { class: "aside" }, `What each makes of the panel's proposal (${one.panel}).`), table];
    }
  }

  const browsers = new Map();
  const sections = [...document.querySelectorAll("section.cases")];
  function browse(section) {
    if (!browsers.has(section)) browsers.set(section, new Browser(section));
    return browsers.get(section);
  }
  const watcher = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) { watcher.unobserve(target); browse(target); }
  }, { rootMargin: "1000px" });
  for (const section of sections) watcher.observe(section);

  // --- finding things -------------------------------------------------------------------------------------------
  const find = document.getElementById("find");
  const found = document.getElementById("found-cases");
  find.parentElement.hidden = false;
  find.addEventListener("input", () => {
    const wanted = logic.words(find.value);
    let left = 0;
    for (const item of document.querySelectorAll("#contents .group li")) {
      item.hidden = !logic.holds(`${item.closest(".group").querySelector("h3").textContent} ${item.textContent}`.toLowerCase(), wanted);
      left += !item.hidden;
    }
    for (const group of document.querySelectorAll("#contents .group")) group.hidden = !group.querySelector("li:not([hidden])");
    const named = wanted.some((word) => word !== "case" && (word.length > 2 || /\d/.test(word)));
    const hits = named ? sections.flatMap((section) => {
      const { name, cases } = browse(section);
      return logic.chosen(cases, { text: find.value }).map((one) => ({ name, one }));
    }) : [];
    hits.sort((a, b) => wanted.includes(`${b.one.id}`) - wanted.includes(`${a.one.id}`)); // its own number first
    const links = hits.map(({ name, one }) => make("li", {}, make("a", { href: `#${name}-case-${one.id}` }, `${name} case ${one.id}`), ` ${one.claim ?? one.gold}`));
    found.replaceChildren(...links.slice(0, 12), ...(links.length > 12 ? [make("li", {}, `and ${links.length - 12} more: use the filters of the case browser`)] : []));
    say(`${left} entries, ${links.length} cases`);
  });

  // A link to a table or a case opens what holds it.
  function open() {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id) return;
    for (const section of sections) browse(section); // first, so that nothing moves afterwards
    const [, study, number] = /^(.*)-case-(\d+)$/.exec(id) ?? [];
    const section = study && document.getElementById(`${study}-cases`);
    if (section) browse(section).open(Number(number));
    const target = section || document.getElementById(id);
    for (let holder = target; holder; holder = holder.parentElement) if (holder.tagName === "DETAILS") holder.open = true;
    target?.scrollIntoView();
    // The keyboard goes on from what was opened.
    const focus = section ? browse(section).record : target?.tagName === "DETAILS" ? target.querySelector("summary") : null;
    focus?.focus({ preventScroll: true });
  }
  addEventListener("hashchange", open);
  document.addEventListener("click", ({ target }) => { // the same address again
    if (target.closest("a")?.hash && target.closest("a").hash === location.hash) open();
  });
  open();

  // Paper has no buttons: everything is open while printing.
  let closed = [];
  addEventListener("beforeprint", () => {
    for (const section of sections) browse(section);
    closed = [...document.querySelectorAll("details.table:not([open])")];
    for (const item of closed) item.open = true;
  });
  addEventListener("afterprint", () => { for (const item of closed) item.open = false; });
})();
