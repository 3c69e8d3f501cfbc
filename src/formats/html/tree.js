/** The calls of a profile, and the weights of the samples that are selected. */
class Tree extends Calls {
  constructor({ header, columns }) {
    const [names, shortNames, dsos, kernel, placeFunction, files, lines, inlined, steps, places, ...rest] = columns;
    const [comms, tids, programs, pids, cpus, rowNodes, ...rows] = rest;
    super({});
    this.header = header;
    const text = (id) => header.strings[id];
    this.functions = Array.from(names, (name, i) => ({
      name: text(shortNames[i]),
      short: text(shortNames[i]),
      full: text(name),
      dso: text(dsos[i]),
      isKernel: kernel[i] === 1,
    }));
    this.hasShortNames = this.functions.some(({ short, full }) => short !== full);
    this.ownFunctions = this.functions.length;
    this.places = Array.from(placeFunction, (func, i) => ({
      func,
      source: text(files[i]) === "" ? "" : lines[i] > 0 ? `${text(files[i])}:${lines[i]}` : text(files[i]),
      isInlined: inlined[i] === 1,
    }));
    const number = (value) => (value === 0 ? null : value - 1);
    const nameOr = (value, id) => (value > 0 ? text(value - 1) : id === null ? "unknown" : id === 0 ? "swapper" : `:${idText(id)}`);
    this.threads = Array.from(tids, (_, i) => {
      const [tid, pid, cpu] = [number(tids[i]), number(pids[i]), number(cpus[i])];
      const [comm, program] = [nameOr(comms[i], tid), pid === null && programs[i] === 0 ? null : nameOr(programs[i], pid)];
      return { comm, tid, program, pid, cpu };
    });
    this.readNodes(steps, places);
    const [events, threads, slots, bases, samples, values, ...waits] = rows;
    // Code follows.
    this.waits = new Waits(header.states, waits.slice(0, 5));
    this.rowNode = Int32Array.from(rowNodes);
    for (let i = 1; i < rowNodes.length; i++) this.rowNode[i] += this.rowNode[i - 1];
    Object.assign(this, { rowEvent: events, rowThread: threads, rowSlot: slots, rowBase: bases, samples, values });
    this.slots = 1;
    this.threadSamples = new Float64Array(this.threads.length);
    this.eventSamples = new Float64Array(header.events.length);
    for (let i = 0; i < slots.length; i++) {
      this.slots = Math.max(this.slots, slots[i] + 1);
      if (bases[i] === 1) continue;
      this.threadSamples[threads[i]] += samples[i];
      this.eventSamples[events[i]] += samples[i];
    }
    this.groups = null;
  }

  /** Selects the names that functions are shown with. */
  showNames(areFull) {
    for (const func of this.functions) func.name = areFull ? func.full : func.short;
  }

  readNodes(steps, places) {
    const count = steps.length + 1;
    this.parent = new Int32Array(count);
    this.func = new Int32Array(count).fill(-1);
    this.place = new Int32Array(count).fill(-1);
    this.end = new Int32Array(count).fill(count);
    const path = [0];
    for (let node = 1; node < count; node++) {
      const depth = path.length - steps[node - 1];
      for (let i = depth; i < path.length; i++) this.end[path[i]] = node;
      path.length = depth;
      this.parent[node] = path[depth - 1];
      path.push(node);
      this.place[node] = places[node - 1];
      this.func[node] = this.places[places[node - 1]].func;
    }
  }

  /** A predicate for rows with selected samples. */
  includes({ isEvent, isThread, isBaseThread, from, to }) {
    return (row) => {
      if (!isEvent[this.rowEvent[row]]) return false;
      // Times of another recording cannot be compared.
      if (this.rowBase[row] === 1) return isBaseThread[this.rowThread[row]];
      return this.rowSlot[row] >= from && this.rowSlot[row] <= to && isThread[this.rowThread[row]];
    };
  }

  /** Adds the samples of a row to a node of these calls or of a part of them. */
  count(calls, node, row) {
    if (this.rowBase[row] === 1) {
      calls.ownBase[node] += this.isCounted(row) ? this.weights[row] : 0;
      return;
    }
    if (this.isCounted(row)) {
      calls.own[node] += this.weights[row];
      calls.ownSamples[node] += this.samples[row];
    }
    this.ratio?.count(calls.ownSides, node, this.rowEvent[row], this.values[row], this.samples[row]);
  }

  /** Selects samples, and computes the weights of all nodes. With a grouping, groups are the first level of the calls. */
  select(selection, grouping) {
    const { isEvent } = selection;
    this.isCounted = (row) => isEvent[this.rowEvent[row]];
    this.ratio = selection.ratio;
    // The events of a ratio may be others than the selected ones.
    const includes = this.includes(this.ratio ? { ...selection, isEvent: isEvent.map(() => true) } : selection);
    this.weights = selection.bySamples ? this.samples : this.values;
    this.clear();
    for (let row = 0; row < this.rowNode.length; row++) if (includes(row)) this.count(this, this.rowNode[row], row);
    this.sum();
    this.selectedSamples = this.totalSamples[0];
    this.functions.length = this.ownFunctions;
    this.groups = grouping && this.groupFrames(grouping, grouping.rows(includes));
  }

  /** A frame for each group with samples, the largest first. Each group has a function of its own, for its name. */
  groupFrames(grouping, rows) {
    const frames = grouping.groups.map(({ key, label }, group) => {
      const frame = { func: this.functions.length, key, rows: rows(group), total: 0, base: 0, samples: 0, self: 0, sides: this.ratio ? [0, 0, 0, 0] : [] };
      this.functions.push({ name: label, short: label, full: label, dso: grouping.words.one, isKernel: false, isGroup: true });
      const sides = frame.sides.map((side) => [side]);
      for (const row of frame.rows) {
        if (this.rowBase[row] === 0) this.ratio?.count(sides, 0, this.rowEvent[row], this.values[row], this.samples[row]);
        if (!this.isCounted(row)) continue;
        if (this.rowBase[row] === 1) {
          frame.base += this.weights[row];
        } else {
          frame.total += this.weights[row];
          frame.samples += this.samples[row];
          if (this.rowNode[row] === 0) frame.self += this.weights[row];
        }
      }
      frame.sides = sides.map(([side]) => side);
      return frame;
    });
    return frames.filter((frame) => frame.rows.length > 0).sort((a, b) => b.total - a.total || b.base - a.base);
  }

  /** Weights of samples by interval of time. */
  timeline(selection) {
    const includes = this.includes(selection);
    const slots = new Float64Array(this.slots);
    for (let row = 0; row < this.rowNode.length; row++) {
      if (this.rowBase[row] === 0 && includes(row)) slots[this.rowSlot[row]] += this.weights[row];
    }
    return slots;
  }

  root(isReversed) {
    const root = super.root(isReversed);
    return this.groups ? { ...root, isOfGroups: true, isReversed } : root;
  }

  children(frame) {
    if (frame.isOfGroups) return this.groups.map((group) => ({ ...group, isReversed: frame.isReversed }));
    if (frame.rows) {
      const calls = this.groupCalls(frame);
      return calls.children(calls.root(frame.isReversed));
    }
    return frame.calls === this ? super.children(frame) : frame.calls.children(frame);
  }

  /** The calls of a group. Computed when they are drawn: most of many groups are too narrow. */
  groupCalls({ func, rows }) {
    const group = this.groups.find((group) => group.func === func);
    if (!group.calls) {
      const { calls, own } = this.part(rows.map((row) => this.rowNode[row]));
      calls.ratio = this.ratio;
      calls.clear();
      rows.forEach((row, i) => this.count(calls, own[i], row));
      calls.sum();
      group.calls = calls;
    }
    return group.calls;
  }

  /** Weight of the samples with a function for which `matches` is true anywhere in the stack. */
  matching(matches) {
    const isMatch = this.functions.map(matches);
    const found = new Uint8Array(this.parent.length);
    let weight = 0;
    for (let node = 1; node < found.length; node++) {
      found[node] = isMatch[this.func[node]] || found[this.parent[node]] ? 1 : 0;
      if (found[node]) weight += this.own[node];
    }
    return weight;
  }

  /** Calls `visit` for each node with selected samples; `isFirst` is false if its function is also one of its callers. */
  forEachNode(visit) {
    const active = new Int32Array(this.functions.length);
    const path = [];
    for (let node = 1; node < this.parent.length; node++) {
      while (path.length > 0 && this.end[path[path.length - 1]] <= node) active[this.func[path.pop()]]--;
      const func = this.func[node];
      if (this.total[node] > 0 || this.totalBase[node] > 0) visit(node, func, active[func] === 0);
      active[func]++;
      path.push(node);
    }
  }

  /** Weights of all functions with selected samples. */
  functionWeights() {
    const weights = new Map();
    this.forEachNode((node, func, isFirst) => {
      let entry = weights.get(func);
      if (!entry) weights.set(func, (entry = { func, self: 0, total: 0, selfBase: 0, totalBase: 0 }));
      entry.self += this.own[node];
      entry.selfBase += this.ownBase[node];
      if (isFirst) {
        entry.total += this.total[node];
        entry.totalBase += this.totalBase[node];
      }
    });
    return [...weights.values()];
  }

  /** Callers, callees and lines of a function with their weights. */
  neighbors(wanted) {
    const lists = { callers: new Map(), callees: new Map(), lines: new Map() };
    const add = (list, func, source, weight) => {
      const key = `${func} ${source}`;
      const entry = list.get(key) ?? { func, source, weight: 0 };
      entry.weight += weight;
      list.set(key, entry);
    };
    const source = (node) => (node > 0 ? this.places[this.place[node]].source : "");
    this.forEachNode((node, func, isFirst) => {
      if (func === wanted) {
        const parent = this.parent[node];
        if (isFirst) {
          add(lists.callers, parent === 0 ? -1 : this.func[parent], source(parent), this.total[node]);
          add(lists.lines, func, source(node), this.total[node]);
        }
        if (this.own[node] > 0) add(lists.callees, -1, source(node), this.own[node]);
      } else if (this.parent[node] > 0 && this.func[this.parent[node]] === wanted) {
        add(lists.callees, func, source(this.parent[node]), this.total[node]);
      }
    });
    const sorted = (list) => [...list.values()].sort((a, b) => b.weight - a.weight);
    return { callers: sorted(lists.callers), callees: sorted(lists.callees), lines: sorted(lists.lines) };
  }
}

