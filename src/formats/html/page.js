const byId = (id) => document.getElementById(id);

/** State of the page. The fragment of its address contains it, so that a link shows the same. */
const state = { view: "flame", event: 0, thread: "", search: "", zoom: "", reverse: "", names: "", from: "", to: "", sort: "self", function: "", weight: "value" };

const readState = () => {
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in state) state[key] = value;
};

const writeState = () => {
  const defaults = { view: "flame", event: "0", sort: "self", weight: "value" };
  const given = Object.entries(state).filter(([key, value]) => String(value) !== (defaults[key] ?? ""));
  history.replaceState(null, "", given.length > 0 ? `#${new URLSearchParams(given)}` : location.pathname);
};

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
  const tree = new Tree(parseData(await readData()));
  const { header } = tree;
  document.title = header.title;
  byId("title").textContent = header.title;
  readState();

  header.events.forEach(([name], index) => byId("event").append(new Option(name, index)));
  byId("event").hidden = header.events.length < 2;
  const comms = [...new Set(tree.threads.map((thread) => thread.comm))].sort();
  const threads = tree.threads.map((thread, index) => ({ ...thread, index })).filter((thread) => thread.tid !== null);
  byId("thread").append(new Option("all threads", ""));
  comms.forEach((comm) => byId("thread").append(new Option(comm, `comm:${comm}`)));
  if (threads.length > 1 && threads.length <= 2000) {
    threads.forEach(({ comm, tid }) => byId("thread").append(new Option(`${comm} ${tid}`, `tid:${tid}`)));
  }
  header.facts.forEach(([name, value]) => byId("facts").append(element("dt", name), element("dd", value)));
  header.warnings.forEach((warning) => byId("warnings").append(element("li", warning)));
  byId("no-warnings").hidden = header.warnings.length > 0;
  if (header.warnings.length > 0) byId("info-tab").textContent = `Info (${header.warnings.length})`;
  byId("time").hidden = !header.hasTimes;

  const isThread = () => {
    const [kind, ...rest] = state.thread.split(":");
    const wanted = rest.join(":");
    if (kind === "comm") return (index) => tree.threads[index].comm === wanted;
    if (kind === "tid") return (index) => String(tree.threads[index].tid) === wanted;
    return () => true;
  };
  const selection = () => ({
    event: Number(state.event),
    isThread: isThread(),
    from: state.from === "" ? 0 : Number(state.from),
    to: state.to === "" ? Infinity : Number(state.to),
    bySamples: state.weight === "samples",
  });

  const change = (changes, isNewSelection = false) => {
    Object.assign(state, changes);
    writeState();
    show(isNewSelection);
  };
  // Full names are those of single functions.
  const names = (path) => path.map((func) => tree.functions[func].full).join(";");
  const flame = new FlameGraph(byId("flame"), tree, {
    onZoom: (path) => {
      flame.focused = path;
      flame.zoomed = path;
      change({ zoom: names(path) });
    },
    onHover: (frame, event) => {
      const tip = byId("tip");
      tip.hidden = !frame;
      if (!frame) return;
      tip.textContent = describe(frame);
      tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8)}px`;
    },
  });
  const heat = new HeatMap(byId("heat"), tree, (from, to) => change({ from, to }, true));
  const table = new FunctionTable(byId("table"), byId("details"), tree, {
    onSelect: (func) => {
      change({ function: tree.functions[func].full });
      const { top } = byId("details").getBoundingClientRect();
      if (top < 0 || top > window.innerHeight) byId("details").scrollIntoView();
    },
    onSort: (sort) => change({ sort }),
  });

  const unit = () => (state.weight === "samples" ? "samples" : header.events[state.event]?.[1] ?? "");
  const describe = ({ func, total, base }) => {
    const { short, full, name, dso } = func < 0 ? { name: "all" } : tree.functions[func];
    let text = `${func < 0 ? name : `${name} (${dso})`}: ${amount(total, unit())}, ${percent(total, tree.total[0])}`;
    if (header.isDiff) text += `; before ${percent(base, tree.totalBase[0])}`;
    return short === full ? text : `${text}\n${name === full ? short : full}`;
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

  let selected = null;
  const show = (isNewSelection) => {
    const key = JSON.stringify([state.event, state.thread, state.from, state.to, state.weight]);
    if (key !== selected) tree.select(selection());
    if (selected === null || isNewSelection || key !== selected) heat.weights = tree.timeline(selection());
    selected = key;
    const isMatch = matcher(state.search);
    flame.isMatch = table.isMatch = isMatch;
    flame.isReversed = state.reverse === "1";
    for (const view of ["flame", "functions", "info"]) {
      byId(`${view}-view`).hidden = state.view !== view;
      byId(`${view}-tab`).ariaSelected = String(state.view === view);
    }
    byId("search").value = state.search;
    byId("event").value = state.event;
    byId("thread").value = state.thread;
    byId("weight").value = state.weight;
    byId("reverse").ariaPressed = String(flame.isReversed);
    tree.showNames(state.names === "full");
    byId("names").ariaPressed = String(state.names === "full");
    byId("all-time").hidden = state.from === "" && state.to === "";
    byId("unzoom").hidden = state.zoom === "";
    const whole = tree.total[0];
    let text = `${tree.selectedSamples.toLocaleString("en")} samples, ${amount(whole, unit())}`;
    if (isMatch) text += `; search: ${percent(tree.matching(isMatch), whole)}`;
    byId("status").textContent = text;
    Object.assign(document.body.dataset, { samples: tree.selectedSamples, weight: whole });
    if (header.hasTimes) {
      [heat.from, heat.to] = [state.from === "" ? 0 : Number(state.from), state.to === "" ? Infinity : Number(state.to)];
      heat.draw();
      const time = (slot) => `${((slot * header.slot) / 1e9).toFixed(3)} s`;
      byId("span").textContent = state.from === "" ? `${time(tree.slots)}` : `${time(heat.from)} to ${time(heat.to + 1)} of ${time(tree.slots)}`;
    }
    if (state.view === "flame") {
      flame.zoomed = state.zoom === "" ? [] : findPath(state.zoom) ?? [];
      flame.draw();
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
      table.draw();
    }
  };

  for (const view of ["flame", "functions", "info"]) byId(`${view}-tab`).addEventListener("click", () => change({ view }));
  byId("search").addEventListener("input", (event) => change({ search: event.target.value }));
  byId("event").addEventListener("change", (event) => change({ event: event.target.value, zoom: "" }, true));
  byId("thread").addEventListener("change", (event) => change({ thread: event.target.value, zoom: "" }, true));
  byId("weight").addEventListener("change", (event) => change({ weight: event.target.value }, true));
  byId("reverse").addEventListener("click", () => change({ reverse: state.reverse === "1" ? "" : "1", zoom: "" }));
  const toggleNames = () => change({ names: state.names === "full" ? "" : "full" });
  byId("names").hidden = !tree.hasShortNames;
  byId("names").addEventListener("click", toggleNames);
  byId("all-time").addEventListener("click", () => change({ from: "", to: "" }, true));
  byId("unzoom").addEventListener("click", () => change({ zoom: "" }));
  byId("theme").addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
  });
  window.addEventListener("resize", () => show(false));
  window.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") {
      event.target.blur?.();
      change(state.search ? { search: "" } : { zoom: "", from: "", to: "" }, true);
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
      byId("status").textContent = describe(flame.move(event.key));
    } else if (event.key === "Enter" && state.view === "flame" && flame.focused && !(event.target instanceof HTMLButtonElement)) {
      flame.onZoom(flame.focused);
    }
  });
  window.addEventListener("hashchange", () => {
    readState();
    show(true);
  });
  show(true);
  document.body.dataset.ready = String(Math.round(performance.now()));
};

start().catch((error) => {
  byId("status").textContent = `The data of this page cannot be read: ${error.message}`;
});
