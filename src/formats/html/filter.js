/** Options of a list; more could not be searched by eye. */
const MAX_OPTIONS = 2000;
/** Kinds whose keys are the same in another recording. */
const COMPARABLE = ["program", "pool", "comm", "cpu"];

/** The choices of events, groups and threads, and the samples that they select. */
class Filter {
  constructor(tree) {
    this.tree = tree;
    this.groupings = new Map();
    this.kinds = ["program", "pid", "tid", "pool", "cpu", "event"].filter((kind) => this.grouping(kind).count > 1);
    // A shell, or perf before it runs the command, is no reason to group.
    const programs = this.grouping("program").groups.map((group) => group.samples).sort((a, b) => b - a);
    const samples = programs.reduce((sum, samples) => sum + samples, 0);
    const { offCpu, ratioWidth } = tree.header;
    if (offCpu !== null) DEFAULTS.event = String(offCpu);
    if (ratioWidth !== null) Object.assign(DEFAULTS, { color: "0", event: String(ratioWidth) });
    DEFAULTS.group = programs.length > 1 && samples - programs[0] >= samples / 100 ? "program" : "none";
  }

  grouping(kind) {
    if (!this.groupings.has(kind)) this.groupings.set(kind, new Grouping(this.tree, kind));
    return this.groupings.get(kind);
  }

  /** The grouping of the flame graph; `null` if there is none. */
  get flameGrouping() {
    return this.kinds.includes(state.group) ? this.grouping(state.group) : null;
  }

  /** What a track stands for. */
  get trackKind() {
    const isThreads = state.group !== "event" && this.kinds.includes(state.group);
    return isThreads ? state.group : this.kinds.includes("pid") ? "pid" : "tid";
  }

  /** The kind and key of the selected group of threads. */
  get thread() {
    const [kind, ...key] = state.thread.split(":");
    return kind in KINDS ? { kind, key: key.join(":") } : null;
  }

  /** Unit of the selected events. */
  get unit() {
    const sum = /^sum:(.*)$/.exec(state.event);
    return sum ? sum[1] : this.tree.header.events[state.event]?.[1] ?? "";
  }

  /** Whether each event is selected: one, the sum of all with a unit, or all, which have only numbers of samples in common. */
  get isEvent() {
    const isSum = state.event.startsWith("sum:");
    const isSelected = (unit, index) => state.event === "all" || (isSum ? unit === this.unit : index === Number(state.event));
    return this.tree.header.events.map(([, unit], index) => isSelected(unit, index));
  }

  /** The state in which as many events as possible are side by side. */
  get eventsSideBySide() {
    const isAlone = this.tree.header.events.filter(([, unit]) => unit === this.unit).length < 2;
    return isAlone || state.event === "all" ? { event: "all", weight: "samples" } : { event: `sum:${this.unit}` };
  }

  /** Whether each thread is selected. */
  isThread() {
    const { thread } = this;
    return this.tree.threads.map((each) => !thread || String(KINDS[thread.kind].key(each) ?? "") === thread.key);
  }

  /** The selected samples. */
  selection() {
    const isThread = this.isThread();
    const isComparable = !this.thread || COMPARABLE.includes(this.thread.kind);
    return {
      isEvent: this.isEvent,
      isThread,
      isBaseThread: isComparable ? isThread : isThread.map(() => true),
      from: state.from === "" ? 0 : Number(state.from),
      to: state.to === "" ? Infinity : Number(state.to),
      bySamples: state.weight === "samples",
      ratio: this.ratio,
    };
  }

  /** The ratio by which frames are colored; `null` if they are by function. */
  get ratio() {
    const { ratios, minSamples } = this.tree.header;
    const ratio = state.color === "" ? undefined : ratios[Number(state.color)];
    return ratio ? new Ratio(ratio, minSamples) : null;
  }

  /** The choices of events: on the CPU, off it, and both if these are times. */
  get cpuEvents() {
    const { events, offCpu } = this.tree.header;
    const others = events.map((event, index) => [event[1], index]).filter(([, index]) => index !== offCpu);
    const [unit, on] = others.find(([unit]) => unit === "ns") ?? others[0] ?? [];
    return { on: String(on), off: String(offCpu), both: unit === "ns" ? "sum:ns" : "" };
  }

  /** The same of all times. */
  wholeTime() {
    return { ...this.selection(), from: 0, to: Infinity };
  }

  /** What tracks show: also the groups that are not selected, so that another can be. */
  tracks() {
    const { tree, kinds, trackKind, thread } = this;
    const selection = this.wholeTime();
    const isPicked = thread?.kind === trackKind;
    return {
      grouping: this.grouping(trackKind),
      includes: tree.includes(isPicked ? { ...selection, isThread: selection.isThread.map(() => true) } : selection),
      eventGrouping: kinds.includes("event") ? this.grouping("event") : null,
      includesOfEvents: tree.includes({ ...selection, isEvent: selection.isEvent.map(() => true) }),
      picked: isPicked ? thread.key : null,
      pickedEvents: selection.isEvent,
      bySamples: selection.bySamples,
      unit: selection.bySamples ? "samples" : this.unit,
    };
  }

  /** Fills the lists of events and groups. */
  fill(eventList, groupList) {
    const { events } = this.tree.header;
    events.forEach(([name], index) => eventList.append(new Option(name, index)));
    const units = new Set(events.map(([, unit]) => unit));
    for (const unit of units) {
      const count = events.filter((event) => event[1] === unit).length;
      if (count > 1) eventList.append(new Option(`sum of ${count} events${unit ? ` (${unit})` : ""}`, `sum:${unit}`));
    }
    if (units.size > 1) eventList.append(new Option(`all ${events.length} events, by samples`, "all"));
    eventList.hidden = events.length < 2;
    groupList.append(new Option("no groups", "none"));
    for (const kind of this.kinds) groupList.append(new Option(`by ${this.grouping(kind).words.one}`, kind));
    groupList.hidden = this.kinds.length === 0;
  }

  /** Fills the list of what frames are colored by. */
  fillColors(list) {
    const { ratios } = this.tree.header;
    list.append(new Option("colors: functions", ""), ...ratios.map(([title], index) => new Option(`colors: ${title}`, index)));
    list.hidden = ratios.length === 0;
  }

  /** Fills the list of threads, or of what samples are grouped by. */
  fillThreads(list) {
    const names = this.grouping("comm").count > MAX_OPTIONS ? "pool" : "comm";
    const kinds = state.group in KINDS ? [state.group] : this.grouping("tid").count > 1 ? [names, "tid"] : [names];
    if (this.listed !== kinds.join()) {
      this.listed = kinds.join();
      list.replaceChildren(new Option(`all ${KINDS[kinds.at(-1)].many}`, ""));
      for (const kind of kinds) {
        const groups = this.grouping(kind).groups.filter((group) => group.samples > 0);
        if (groups.length > MAX_OPTIONS) continue;
        groups.sort((a, b) => (a.label < b.label ? -1 : 1));
        for (const { key, label } of groups) list.append(new Option(label, `${kind}:${key}`));
      }
    }
    const { thread } = this;
    if (thread && ![...list.options].some((option) => option.value === state.thread)) {
      const group = this.grouping(thread.kind).groups.find((group) => group.key === thread.key);
      list.append(new Option(group?.label ?? thread.key, state.thread));
    }
    list.value = state.thread;
  }
}

