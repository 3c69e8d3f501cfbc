/** Rows of the table that are shown. */
const MAX_ROWS = 300;

/** An element with text and children. */
const element = (name, text, ...children) => {
  const created = document.createElement(name);
  if (text !== null) created.textContent = text;
  created.append(...children);
  return created;
};

/** A share of a whole. */
const percent = (part, whole) => `${whole > 0 ? ((part * 100) / whole).toFixed(2) : "0.00"}%`;

/** The table of functions, and the callers, callees and lines of the selected one. */
class FunctionTable {
  constructor(table, details, tree, { code, onSelect, onSort }) {
    Object.assign(this, { table, details, tree, code, onSelect, onSort, sort: "self", selected: null, isMatch: null });
  }

  draw() {
    const { tree } = this;
    const whole = tree.total[0];
    const scale = tree.totalBase[0] > 0 ? whole / tree.totalBase[0] : 0;
    const name = (entry) => tree.functions[entry.func].name;
    const orders = {
      self: (a, b) => b.self - a.self || b.total - a.total,
      total: (a, b) => b.total - a.total || b.self - a.self,
      name: (a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0),
      change: (a, b) => Math.abs(b.self - b.selfBase * scale) - Math.abs(a.self - a.selfBase * scale),
    };
    let entries = tree.functionWeights();
    if (this.isMatch) entries = entries.filter((entry) => this.isMatch(tree.functions[entry.func]));
    entries.sort(orders[this.sort] ?? orders.self);
    const columns = [["self", "self"], ["total", "total"], ...(tree.header.isDiff ? [["change", "change of self"]] : []), ["name", "function"]];
    const head = element("tr", null, ...columns.map(([key, title]) => {
      const button = element("button", title);
      button.dataset.key = key;
      button.addEventListener("click", () => this.onSort(key));
      const cell = element("th", null, button);
      cell.ariaSort = key === this.sort ? "descending" : "none";
      return cell;
    }));
    const rows = entries.slice(0, MAX_ROWS).map((entry) => {
      const { name, full, dso } = tree.functions[entry.func];
      const button = element("button", name);
      if (full !== name) button.title = full;
      button.dataset.key = entry.func;
      button.addEventListener("click", () => this.onSelect(entry.func));
      const row = element("tr", null, element("td", percent(entry.self, whole)), element("td", percent(entry.total, whole)));
      if (tree.header.isDiff) {
        const change = whole > 0 ? ((entry.self - entry.selfBase * scale) * 100) / whole : 0;
        row.append(element("td", `${change > 0 ? "+" : ""}${change.toFixed(2)}%`));
      }
      row.append(element("td", null, button, element("small", ` ${dso}`)));
      row.dataset.self = entry.self;
      row.dataset.total = entry.total;
      return row;
    });
    const focused = this.table.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.table.replaceChildren(element("thead", null, head), element("tbody", null, ...rows));
    if (focused) this.table.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
    if (entries.length > MAX_ROWS) {
      this.table.append(element("caption", `${entries.length - MAX_ROWS} more functions; search to find them`));
    }
    this.drawDetails();
  }

  drawDetails() {
    const { tree, selected } = this;
    if (selected === null) {
      this.details.replaceChildren(element("p", "Select a function to see its callers, callees and lines."));
      return;
    }
    const { callers, callees, lines } = tree.neighbors(selected);
    const list = (title, entries, isNamed) => {
      const items = entries.slice(0, 50).map(({ func, source, weight }) => {
        const item = element("li", `${percent(weight, tree.total[0])} `);
        if (isNamed && func >= 0) {
          const { name, full } = tree.functions[func];
          const button = element("button", name);
          if (full !== name) button.title = full;
          button.addEventListener("click", () => this.onSelect(func));
          item.append(button);
        } else if (isNamed) {
          item.append(title === "Callers" ? "(no caller)" : "(itself)");
        }
        if (source) item.append(element("code", ` ${source}`));
        return item;
      });
      return [element("h3", title), element("ul", null, ...items)];
    };
    const { name, full, dso } = tree.functions[selected];
    const hasFocus = this.details.contains(document.activeElement);
    this.details.replaceChildren(
      element("h2", name),
      ...(full === name ? [] : [element("p", full)]),
      element("p", dso),
      ...list("Callers", callers, true),
      ...list("Callees", callees, true),
      ...list("Lines", lines.filter((line) => line.source), false),
      ...this.code.draw(tree.functions[selected], () => this.drawDetails()),
    );
    if (hasFocus) this.details.focus({ preventScroll: true });
  }
}

