const byId = (id) => document.getElementById(id);

/** A predicate for functions, from the text of the search: a regular expression, or else a part of the name. */
const matcher = (text) => {
  if (!text) return null;
  try {
    const pattern = new RegExp(text, "i");
    return (func) => pattern.test(func.short) || pattern.test(func.full) || pattern.test(func.dso);
  } catch {
    return (func) => func.short.includes(text) || func.full.includes(text) || func.dso.includes(text);
  }
};

const amount = (value, unit) => {
  if (unit !== "ns") return `${value.toLocaleString("en")}${unit ? ` ${unit}` : ""}`;
  return value >= 1e9 ? `${(value / 1e9).toFixed(3)} s` : `${(value / 1e6).toFixed(3)} ms`;
};

const start = async () => {
  const data = parseData(await readData());
  const [tree, code] = [new Tree(data), new CodePanel(new Code(data))];
  const { header } = tree;
  document.title = header.title;
  byId("title").textContent = byId("title").title = header.title;
  const filter = new Filter(tree);
  readState();

  filter.fill(byId("event"), byId("group"));
  filter.fillColors(byId("color"));
  tree.waits.showLegend(byId("waits-legend"));
  const wholeParallelism = header.parallelism.reduce(([samples, value], row) => [samples + row[1], value + row[2]], [0, 0]);
  byId("parallelism").append(...header.parallelism.map(([threads, samples, value]) => {
    const bar = element("i", null);
    bar.style.width = percent(value, wholeParallelism[1]);
    const cells = [String(threads), percent(samples, wholeParallelism[0]), percent(value, wholeParallelism[1])];
    return element("tr", null, ...cells.map((text) => element("td", text)), element("td", null, bar));
  }));
  byId("parallelism-view").hidden = header.parallelism.length === 0;
  byId("cpu").hidden = header.offCpu === null;
  header.facts.forEach(([name, value]) => byId("facts").append(element("dt", name), element("dd", value)));
  header.warnings.forEach((warning) => byId("warnings").append(element("li", warning)));
  byId("no-warnings").hidden = header.warnings.length > 0;
  if (header.warnings.length > 0) byId("info-tab").textContent = `Info (${header.warnings.length})`;
  byId("legend").hidden = !header.isDiff;
  const [file, base] = header.files;
  byId("file").textContent = file || "this recording";
  byId("base").textContent = base !== "" && base !== file ? base : `the other ${base || "recording"}`;

  /** Whether the latest change was of the same kind, and can be replaced in the history. */
  let latest = "";
  const change = (changes, continued = "") => {
    Object.assign(state, changes);
    writeState(continued !== "" && continued === latest);
    latest = continued;
    show();
  };
  // Full names are those of single functions.
  const names = (path) => path.map((func) => tree.functions[func].full).join(";");
  const flame = new FlameGraph(byId("flame"), tree, {
    onZoom: (path) => {
      flame.focused = path;
      flame.zoomed = path;
      change({ zoom: names(path) });
    },
    onHover: (frame, event) => showTip(frame && describe(frame).join("\n"), event),
  });
  const showTip = (text, event) => {
    const tip = byId("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 0)}px`;
    const below = event.clientY + 16;
    tip.style.top = `${below + tip.offsetHeight > window.innerHeight ? Math.max(event.clientY - tip.offsetHeight - 8, 0) : below}px`;
  };
  const spanText = ({ from, to }) => `${timeText(from, to - from, to)} to ${timeText(to, to - from, to)}`;
  const selectSpan = (from, to, isKey) => change({ from, to }, isKey ? "span" : "");
  const heat = new HeatMap(byId("heat"), tree, {
    onSelect: selectSpan,
    onHover: (slot, event) => showTip(slot && `${spanText(slot)}\n${amount(slot.weight, unit())}, ${percent(slot.weight, slot.whole)} of all times`, event),
  });
  const tracks = new Tracks(byId("tracks"), tree, {
    onSelect: selectSpan,
    onZoom: (from, to) => change({ window: from <= 0 && to >= tree.slots - 1 ? "" : `${from}-${to}` }, "window"),
    onPick: ({ key, grouping }) => {
      const thread = `${grouping.kind}:${key}`;
      if (grouping.isByEvent) change({ event: key, zoom: "", group: state.group === "event" ? "none" : state.group });
      else change({ thread: state.thread === thread ? "" : thread, zoom: "" });
    },
    onHover: (bin, event) => showTip(bin && trackText(bin), event),
    onReset: () => change({ from: "", to: "", window: "" }),
  });
  const trackText = ({ label, unit, weight, total, whole, waits, ...span }) => {
    const share = whole === null ? "" : `, ${percent(total, whole)}`;
    const waited = waits.map(([name, time]) => `\n${name}: ${amount(time, "ns")}`).join("");
    return `${label}: ${amount(total, unit)}${share}\n${spanText(span)}: ${amount(weight, unit)}${waited}`;
  };
  const table = new FunctionTable(byId("table"), byId("details"), tree, {
    code,
    onSelect: (func) => {
      change({ function: tree.functions[func].full });
      const { top } = byId("details").getBoundingClientRect();
      if (top < 0 || top > window.innerHeight) byId("details").scrollIntoView();
    },
    onSort: (sort) => change({ sort }),
  });

  const unit = () => (state.weight === "samples" ? "samples" : filter.unit);
  /** A frame's name, samples, own weight and shares, and its name in the other form. */
  const describe = ({ func, total, base, samples, self, sides }) => {
    const whole = tree.total[0];
    const { short, full, name, dso } = func < 0 ? { name: "all" } : tree.functions[func];
    const lines = [`${func < 0 ? name : `${name} (${dso})`}: ${amount(total, unit())}`];
    if (unit() !== "samples") lines.push(`${samples.toLocaleString("en")} samples`);
    lines.push(`${amount(self, unit())} self, ${percent(self, whole)}`, `${percent(total, whole)} of all`);
    if (flame.zoomed.length > 0) lines.push(`${percent(total, flame.zoomedTotal)} of the zoomed frame`);
    if (tree.ratio) lines.push(`${tree.ratio.title}: ${tree.ratio.text(sides)}`);
    if (header.isDiff) lines.push(`${percent(base, tree.totalBase[0])} before`);
    if (short !== full) lines.push(name === full ? short : full);
    return lines;
  };

  const isNamed = (func, name) => tree.functions[func].full === name || tree.functions[func].short === name;
  /** The path of functions with these names, or to the largest frame of a single name. */
  const findPath = (wanted) => {
    const list = wanted.split(";");
    const path = [];
    let frame = tree.root(flame.isReversed);
    for (const name of list) {
      const child = tree.children(frame).find((child) => isNamed(child.func, name));
      if (!child) break;
      path.push(child.func);
      frame = child;
    }
    return path.length === list.length ? path : null;
  };
  const findFrame = (name) => {
    const found = (flame.frames ?? []).filter((frame) => frame.func >= 0 && isNamed(frame.func, name));
    return found.sort((a, b) => b.total - a.total)[0]?.path ?? [];
  };

  const showTime = () => {
    const { from, to } = filter.selection();
    const shown = state.window === "" ? [0, tree.slots - 1] : state.window.split("-").map(Number);
    byId("time").hidden = false;
    byId("heat").hidden = !heat.isUseful;
    Object.assign(heat, { from, to });
    Object.assign(tracks, { from, to, window: shown });
    if (heat.isUseful) heat.draw();
    tracks.draw();
    const time = (slot) => `${((slot * header.slot) / 1e9).toFixed(3)} s`;
    byId("span").textContent = to === Infinity ? time(tree.slots) : `${time(from)} to ${time(to + 1)} of ${time(tree.slots)}`;
  };

  let selected = null;
  let timeline = null;
  const show = () => {
    const common = [state.event, state.thread, state.weight, state.group];
    const key = JSON.stringify([...common, state.from, state.to, state.color]);
    if (key !== selected) tree.select(filter.selection(), filter.flameGrouping);
    selected = key;
    if (header.hasTimes && JSON.stringify(common) !== timeline) {
      heat.weights = tree.timeline(filter.wholeTime());
      tracks.set(filter.tracks());
      timeline = JSON.stringify(common);
    }
    const isMatch = matcher(state.search);
    flame.isMatch = table.isMatch = isMatch;
    flame.isReversed = state.reverse === "1";
    for (const view of ["flame", "functions", "info"]) {
      byId(`${view}-view`).hidden = state.view !== view;
      byId(`${view}-tab`).ariaSelected = String(state.view === view);
    }
    byId("search").value = state.search;
    byId("event").value = state.event;
    byId("color").value = state.color;
    const { on, off, both } = filter.cpuEvents;
    for (const [id, event] of [["on-cpu", on], ["off-cpu", off], ["both-cpu", both]]) {
      byId(id).ariaPressed = String(state.event === event);
      byId(id).hidden = event === "";
    }
    byId("group").value = state.group;
    filter.fillThreads(byId("thread"));
    byId("weight").value = state.weight;
    byId("reverse").ariaPressed = String(flame.isReversed);
    tree.showNames(state.names === "full");
    byId("names").ariaPressed = String(state.names === "full");
    byId("all-time").hidden = state.from === "" && state.to === "" && state.window === "";
    byId("zoom-time").hidden = state.from === "" || state.window === `${state.from}-${state.to}`;
    byId("unzoom").hidden = state.zoom === "";
    const whole = tree.total[0];
    let text = `${tree.selectedSamples.toLocaleString("en")} samples, ${amount(whole, unit())}`;
    if (isMatch) text += `; search: ${percent(tree.matching(isMatch), whole)}`;
    byId("status").textContent = text;
    Object.assign(document.body.dataset, { samples: tree.selectedSamples, weight: whole });
    if (header.hasTimes) showTime();
    if (state.view === "flame") {
      flame.zoomed = state.zoom === "" ? [] : findPath(state.zoom) ?? [];
      flame.draw();
      byId("ratio-legend").hidden = !tree.ratio;
      tree.ratio?.showLegend(byId("ratio-legend"), flame.wholeSides);
      if (state.zoom !== "" && flame.zoomed.length === 0) {
        flame.zoomed = findFrame(state.zoom);
        flame.draw();
      }
      byId("zoomed").textContent = flame.zoomed.length > 0 ? flame.name(flame.zoomed.at(-1)) : "";
    }
    if (state.view === "functions") {
      table.sort = state.sort;
      const exact = tree.functions.findIndex((func) => func.full === state.function);
      const index = exact < 0 ? tree.functions.findIndex((func) => func.short === state.function) : exact;
      table.selected = index < 0 ? null : index;
      Object.assign(code, { isEvent: filter.selection().isEvent, bySamples: state.weight === "samples" });
      table.draw();
    }
  };

  for (const view of ["flame", "functions", "info"]) byId(`${view}-tab`).addEventListener("click", () => change({ view }));
  byId("search").addEventListener("input", (event) => change({ search: event.target.value }, "search"));
  byId("event").addEventListener("change", (event) => {
    const weight = event.target.value === "all" ? "samples" : state.weight;
    change({ event: event.target.value, weight, zoom: "" });
  });
  byId("color").addEventListener("change", (event) => change({ color: event.target.value }));
  for (const [id, name] of [["on-cpu", "on"], ["off-cpu", "off"], ["both-cpu", "both"]]) {
    byId(id).addEventListener("click", () => change({ event: filter.cpuEvents[name], weight: "value", zoom: "" }));
  }
  byId("group").addEventListener("change", (event) => {
    const group = event.target.value;
    change({ group, zoom: "", ...(group === "event" ? filter.eventsSideBySide : {}) });
  });
  byId("thread").addEventListener("change", (event) => change({ thread: event.target.value, zoom: "" }));
  byId("weight").addEventListener("change", (event) => {
    const weight = event.target.value;
    change({ weight, event: weight === "value" && state.event === "all" ? DEFAULTS.event : state.event });
  });
  byId("reverse").addEventListener("click", () => change({ reverse: state.reverse === "1" ? "" : "1", zoom: "" }));
  const toggleNames = () => change({ names: state.names === "full" ? "" : "full" });
  byId("names").hidden = !tree.hasShortNames;
  byId("names").addEventListener("click", toggleNames);
  byId("all-time").addEventListener("click", () => change({ from: "", to: "", window: "" }));
  byId("zoom-time").addEventListener("click", () => change({ window: `${state.from}-${state.to}` }));
  byId("unzoom").addEventListener("click", () => change({ zoom: "" }));
  byId("theme").addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    show();
  });
  window.addEventListener("resize", show);
  // Colors of canvases are those of the style sheet for the medium and the theme.
  for (const query of ["print", "(prefers-color-scheme: dark)"]) window.matchMedia(query).addEventListener("change", show);
  window.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") {
      event.target.blur?.();
      change(state.search ? { search: "" } : { zoom: "", from: "", to: "", window: "" });
    } else if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "r") {
      change({ reverse: state.reverse === "1" ? "" : "1", zoom: "" });
    } else if (event.key === "f" && tree.hasShortNames) {
      toggleNames();
    } else if (["1", "2", "3"].includes(event.key)) {
      change({ view: ["flame", "functions", "info"][event.key - 1] });
    } else if (event.key.startsWith("Arrow") && state.view === "flame") {
      event.preventDefault();
      byId("flame").focus({ preventScroll: true });
      byId("status").textContent = describe(flame.move(event.key)).join(", ");
    } else if (event.key === "Enter" && state.view === "flame" && flame.focused && !(event.target instanceof HTMLButtonElement)) {
      flame.onZoom(flame.focused);
    }
  });
  window.addEventListener("popstate", () => {
    readState();
    latest = "";
    show();
  });
  show();
  document.body.dataset.ready = String(Math.round(performance.now()));
};

start().catch((error) => {
  byId("status").textContent = `The data of this page cannot be read: ${error.message}`;
});
