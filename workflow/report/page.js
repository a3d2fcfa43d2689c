// Tables: sort by a column, copy as CSV or LaTeX, filter rows. Everything can be read without this script.
"use strict";
(() => {
  const status = document.getElementById("status");
  const say = (text) => { status.textContent = ""; setTimeout(() => { status.textContent = text; }, 50); };
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key in element && key !== "list") element[key] = value; else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };
  const text = (cell) => cell.textContent.trim();
  const rowsOf = (table) => [...table.tBodies[0].rows];
  // The files' values where the page shows rounded ones.
  const value = (cell) => cell.dataset.v ?? text(cell);

  function sortBy(table, column, heading) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rowsOf(table).map((row, index) => ({ row, index, key: value(row.cells[column]) }));
    const numbers = keyed.every(({ key }) => key === "" || key === "–" || !Number.isNaN(Number(key)));
    const missing = (key) => key === "" || key === "–";
    keyed.sort((a, b) => {
      if (missing(a.key) || missing(b.key)) return missing(a.key) - missing(b.key) || a.index - b.index;
      const order = numbers ? Number(a.key) - Number(b.key) : a.key.localeCompare(b.key, undefined, { numeric: true });
      return (down ? -order : order) || a.index - b.index;
    });
    table.tBodies[0].append(...keyed.map(({ row }) => row));
    say(`${text(heading)}: ${down ? "descending" : "ascending"}`);
  }

  const shown = (table) => [table.tHead.rows[0], ...rowsOf(table).filter((row) => !row.hidden)];
  const cells = (row) => [...row.cells].map((cell) => value(cell).replace(/^–$/, ""));

  function csv(table) {
    const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    return shown(table).map((row) => cells(row).map(quote).join(",")).join("\n") + "\n";
  }

  function latex(table) {
    const marks = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--" };
    const escaped = (cell) => cell.replace(/[\\~^–]|[&%$#_{}]/g, (mark) => marks[mark] ?? `\\${mark}`);
    const [head, ...body] = shown(table);
    const columns = [...head.cells].map((cell) => (cell.classList.contains("n") ? "r" : "l")).join("");
    const line = (row) => [...row.cells].map((cell) => escaped(text(cell))).join(" & ") + " \\\\";
    const basis = table.dataset.basis ? `% ${table.dataset.basis}\n` : "";
    return `${basis}\\begin{tabular}{${columns}}\n\\hline\n${line(head)}\n\\hline\n${body.map(line).join("\n")}\n\\hline\n\\end{tabular}\n`;
  }

  async function copy(content, what) {
    try {
      await navigator.clipboard.writeText(content);
    } catch { // a page opened from disk may not have the clipboard
      const area = make("textarea", { value: content, className: "away" });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say(`${what} copied`);
  }

  function filterable(table) {
    const box = make("input", { type: "search", placeholder: "filter rows" });
    const label = make("label", {}, "Filter ", box);
    box.addEventListener("input", () => filter(table));
    table.filters = { words: () => box.value.toLowerCase().split(/\s+/).filter(Boolean) };
    return label;
  }

  function filter(table) {
    const words = table.filters.words();
    let left = 0;
    for (const row of rowsOf(table)) {
      const content = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => content.includes(word)) || (table.alsoHidden?.(row) ?? false);
      left += !row.hidden;
    }
    say(`${left} rows`);
  }

  for (const table of document.querySelectorAll("table.data")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = make("button", { type: "button", className: "sort" }, ...heading.childNodes);
      button.addEventListener("click", () => sortBy(table, column, heading));
      heading.replaceChildren(button);
    });
    const bar = make("div", { className: "bar" }, filterable(table));
    for (const [name, write] of [["CSV", csv], ["LaTeX", latex]]) {
      const button = make("button", { type: "button" }, `Copy ${name}`);
      button.addEventListener("click", () => copy(write(table), name));
      bar.append(button);
    }
    table.closest(".scroll").before(bar);
  }

  // The audit: statuses, paper tables and studies as filters over one table.
  const audit = document.getElementById("audit-table");
  if (audit) {
    const choices = [...document.querySelectorAll("#audit-filters select")];
    audit.alsoHidden = (row) => choices.some((choice) => choice.value && row.dataset[choice.name] !== choice.value);
    for (const choice of choices) choice.addEventListener("change", () => filter(audit));
    filter(audit);
  }

  // Cases: one list and one record a study, built when first opened.
  const words = (value) => value.toLowerCase().split(/\s+/).filter(Boolean);
  const browsers = new Map();

  class Browser {
    constructor(section) {
      this.name = section.id.replace(/-cases$/, "");
      this.data = JSON.parse(section.querySelector("script[type='application/json']").textContent);
      this.cases = this.data.cases;
      this.chosen = 0;
      this.search = make("input", { type: "search", placeholder: this.data.text ? "words of claim or evidence, or a number" : "case number" });
      this.gold = make("select", {}, make("option", { value: "" }, "all"), ...[...new Set(this.cases.map((one) => one.gold))].sort().map((gold) => make("option", {}, gold)));
      this.tags = Object.entries(this.data.tags).map(([tag, meaning]) => {
        const count = this.cases.filter((one) => one.tags.includes(tag)).length;
        const box = make("input", { type: "checkbox", value: tag });
        return { box, label: make("label", { title: meaning }, box, ` ${tag} (${count})`) };
      });
      this.list = make("div", { className: "list", role: "listbox", tabIndex: 0, ariaLabel: `${this.name}: cases` });
      this.record = make("article", { className: "record", tabIndex: -1 });
      this.count = make("p", { className: "count" });
      section.append(
        ...(this.data.text ? [] : [make("p", { className: "notice" }, "The licence of a source does not allow its text to be passed on: cases are shown by number, label and verdict. For yourself, build the page with --config text=true.")]),
        make("div", { className: "bar" }, make("label", {}, "Find ", this.search), make("label", {}, "Gold ", this.gold)),
        make("div", { className: "bar tags", role: "group", ariaLabel: "Only cases that are" }, ...this.tags.map(({ label }) => label)),
        make("div", { className: "browser" }, make("div", {}, this.count, this.list), this.record),
      );
      for (const control of [this.search, this.gold, ...this.tags.map(({ box }) => box)]) {
        control.addEventListener("input", () => this.filter());
      }
      this.list.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const at = this.shown.indexOf(this.chosen);
        const next = this.shown[Math.min(this.shown.length - 1, Math.max(0, at + step))];
        if (next !== undefined) this.choose(next, true);
      });
      this.filter();
    }

    matches(one) {
      const wanted = words(this.search.value);
      const content = `${one.id} case ${one.id} ${one.stratum} ${one.claim ?? ""} ${(one.evidence ?? []).join(" ")}`.toLowerCase();
      return wanted.every((word) => (/^\d+$/.test(word) ? one.id === Number(word) || (this.data.text && content.includes(word)) : content.includes(word)))
        && (!this.gold.value || one.gold === this.gold.value)
        && this.tags.every(({ box }) => !box.checked || one.tags.includes(box.value));
    }

    filter() {
      this.shown = this.cases.filter((one) => this.matches(one)).map((one) => one.id);
      this.list.replaceChildren(...this.shown.map((id) => {
        const one = this.cases[id];
        const item = make("div", { role: "option", id: `${this.name}-option-${id}` },
          make("b", {}, String(id)), ` ${one.claim ?? one.stratum} `,
          make("span", { className: "small-mark" }, `${one.gold}${one.panel ? ` → ${one.panel}` : ""}${one.tags.length ? ` · ${one.tags.join(" ")}` : ""}`));
        item.addEventListener("click", () => this.choose(id, true));
        return item;
      }));
      this.count.textContent = `${this.shown.length} of ${this.cases.length} cases`;
      say(this.count.textContent);
      if (this.shown.length) this.choose(this.shown.includes(this.chosen) ? this.chosen : this.shown[0], false);
      else this.record.replaceChildren(make("p", {}, "No case has all of this."));
    }

    choose(id, byHand) {
      this.chosen = id;
      for (const item of this.list.children) item.setAttribute("aria-selected", item.id === `${this.name}-option-${id}`);
      this.list.setAttribute("aria-activedescendant", `${this.name}-option-${id}`);
      if (byHand) {
        document.getElementById(`${this.name}-option-${id}`)?.scrollIntoView({ block: "nearest" });
        history.replaceState(null, "", `#${this.name}-case-${id}`);
      }
      this.show(this.cases[id]);
    }

    show(one) {
      const mark = this.data.basis ? [" ", make("strong", { className: "basis" }, this.data.basis)] : [];
      const row = (kind, ...cellsOf) => make("tr", {}, ...cellsOf.map((content) => make(kind, kind === "th" ? { scope: "col" } : {}, ...[content].flat())));
      const parts = [make("h4", {}, `Case ${one.id}`, ...mark)];
      if (one.claim !== undefined) parts.push(make("blockquote", {}, one.claim));
      parts.push(make("p", {}, `Gold label: `, make("b", {}, one.gold), ` · stratum ${one.stratum}`,
        ...(one.panel ? [` · typed panel: `, make("b", {}, one.panel), `, mean confidence ${one.mean ?? "none stated"}`] : []),
        ...(one.tags.length ? [` · ${one.tags.join(", ")}`] : [])));
      const blocks = (one.evidence ?? []).map((block, index) => make("li", { value: index + 1, className: "evidence" }, make("b", {}, `E${index + 1} `), block));
      if (blocks.length) parts.push(make("h5", {}, "Evidence"), make("ol", { className: "blocks" }, ...blocks));
      const answers = make("table", {}, make("thead", {}, row("th", "Arm", "Judge", "Verdict", "Confidence", ...(this.data.text ? ["Reasoning"] : []), "Parsing")),
        make("tbody", {}, ...one.answers.map((answer) => row("td", answer.arm, answer.judge + (answer.replicate ? ` #${answer.replicate}` : ""),
          make("b", {}, answer.verdict ?? "none"), answer.confidence ?? "–", ...(this.data.text ? [answer.said ?? ""] : []), answer.status ?? "ok"))));
      parts.push(make("h5", {}, "Judges"), make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Judges" }, answers));
      for (const answer of one.answers.filter((each) => each.subclaims)) {
        const light = (cites, on) => cites.forEach((cite) => blocks[Number(cite.slice(1)) - 1]?.classList.toggle("cited", on));
        const body = answer.subclaims.map((item) => {
          const line = row("td", ...(this.data.text ? [item.text] : []), item.material ? "yes" : "no", make("b", {}, item.state), item.cites.join(", "), ...(this.data.text ? [item.rationale] : []));
          line.tabIndex = 0;
          for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) line.addEventListener(event, () => light(item.cites, on));
          return line;
        });
        parts.push(make("h5", {}, `Certificate of ${answer.judge}: ${answer.verdict ?? "none"} (it states ${answer.stated ?? "nothing"})`),
          make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Certificate" },
            make("table", {}, make("thead", {}, row("th", ...(this.data.text ? ["Subclaim"] : []), "Material", "Evidence", "Cites", ...(this.data.text ? ["Rationale"] : []))), make("tbody", {}, ...body))));
      }
      const controllers = Object.entries(one.controllers);
      if (controllers.length) {
        parts.push(make("h5", {}, "Controllers"), make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Controllers" },
          make("table", {}, make("thead", {}, row("th", "Controller", "Decision", "In floats, where it differs")),
            make("tbody", {}, ...controllers.map(([name, [exact, published]]) => row("td", name, make("b", {}, exact), published ?? ""))))));
      }
      this.record.replaceChildren(...parts);
    }
  }

  const browse = (section) => {
    if (!browsers.has(section.id)) browsers.set(section.id, new Browser(section));
    return browsers.get(section.id);
  };
  const sections = [...document.querySelectorAll("section.cases")];
  const watcher = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) { watcher.unobserve(target); browse(target); }
  }, { rootMargin: "600px" });
  for (const section of sections) watcher.observe(section);

  // Contents: words narrow the list; numbers and words lead to cases too.
  const find = document.getElementById("find");
  const contents = document.getElementById("contents-list");
  find.addEventListener("input", () => {
    const wanted = words(find.value);
    let left = 0;
    for (const item of contents.children) {
      item.hidden = !wanted.every((word) => item.textContent.toLowerCase().includes(word));
      left += !item.hidden;
    }
    const links = [];
    if (wanted.length) {
      for (const section of sections) {
        const browser = browse(section);
        for (const one of browser.cases) {
          const content = `${one.id} ${one.claim ?? ""}`.toLowerCase();
          const hit = wanted.filter((word) => word !== "case").every((word) => (/^\d+$/.test(word) ? one.id === Number(word) : content.includes(word)));
          if (hit && wanted.some((word) => word !== "case") && links.length < 20) links.push(make("a", { href: `#${browser.name}-case-${one.id}` }, `${browser.name} case ${one.id}`), " ");
        }
      }
    }
    document.getElementById("found-cases").replaceChildren(...links);
    say(`${left} entries, ${links.length / 2} cases`);
  });

  // A link to a table or case opens what holds it.
  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const [, study, number] = /^(.*)-case-(\d+)$/.exec(id) ?? [];
    const section = study && document.getElementById(`${study}-cases`);
    if (section) {
      const browser = browse(section);
      if (browser.cases[number]) { browser.search.value = ""; browser.filter(); browser.choose(Number(number), true); }
    }
    const target = section || (id && document.getElementById(id));
    for (let holder = target; holder; holder = holder.parentElement) if (holder.tagName === "DETAILS") holder.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
  addEventListener("beforeprint", () => document.querySelectorAll("main details:not(.columns)").forEach((item) => { item.open = true; }));
})();
