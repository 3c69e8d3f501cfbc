/** The calls of a profile, and the weights of the samples that are selected. Node 0 is the root. */
class Tree {
  constructor({ header, columns }) {
    const [names, shortNames, dsos, kernel, placeFunction, files, lines, inlined, steps, places, rowNodes, ...rows] = columns;
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
    this.places = Array.from(placeFunction, (func, i) => ({
      func,
      source: text(files[i]) === "" ? "" : lines[i] > 0 ? `${text(files[i])}:${lines[i]}` : text(files[i]),
      isInlined: inlined[i] === 1,
    }));
    this.threads = header.threads.map(([comm, tid]) => ({
      comm: comm === null ? (tid === 0 ? "swapper" : `:${tid}`) : text(comm),
      tid,
    }));
    this.readNodes(steps, places);
    const [events, threads, slots, bases, samples, values] = rows;
    this.rowNode = Int32Array.from(rowNodes);
    for (let i = 1; i < rowNodes.length; i++) this.rowNode[i] += this.rowNode[i - 1];
    Object.assign(this, { rowEvent: events, rowThread: threads, rowSlot: slots, rowBase: bases, samples, values });
    this.slots = 1;
    for (let i = 0; i < slots.length; i++) this.slots = Math.max(this.slots, slots[i] + 1);
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

  /** Selects samples, and computes the weights of all nodes. */
  select({ event, isThread, from, to, bySamples }) {
    const count = this.parent.length;
    const weights = bySamples ? this.samples : this.values;
    this.own = new Float64Array(count);
    this.ownBase = new Float64Array(count);
    this.selectedSamples = 0;
    for (let row = 0; row < this.rowNode.length; row++) {
      if (this.rowEvent[row] !== event) continue;
      if (this.rowBase[row] === 1) {
        this.ownBase[this.rowNode[row]] += weights[row];
        continue;
      }
      const slot = this.rowSlot[row];
      if (slot < from || slot > to || !isThread(this.rowThread[row])) continue;
      this.own[this.rowNode[row]] += weights[row];
      this.selectedSamples += this.samples[row];
    }
    this.total = this.own.slice();
    this.totalBase = this.ownBase.slice();
    for (let node = count - 1; node > 0; node--) {
      this.total[this.parent[node]] += this.total[node];
      this.totalBase[this.parent[node]] += this.totalBase[node];
    }
  }

  /** Weights of the samples by interval of time, whatever interval is selected. */
  timeline({ event, isThread, bySamples }) {
    const weights = bySamples ? this.samples : this.values;
    const slots = new Float64Array(this.slots);
    for (let row = 0; row < this.rowNode.length; row++) {
      if (this.rowEvent[row] === event && this.rowBase[row] === 0 && isThread(this.rowThread[row])) {
        slots[this.rowSlot[row]] += weights[row];
      }
    }
    return slots;
  }

  /** The frame of all stacks. Stacks are merged from their roots, or reversed from their leaves. */
  root(isReversed) {
    if (!isReversed) return { func: -1, nodes: [0], weights: null, total: this.total[0], base: this.totalBase[0] };
    const nodes = [];
    for (let node = 1; node < this.own.length; node++) if (this.own[node] > 0 || this.ownBase[node] > 0) nodes.push(node);
    const weights = nodes.map((node) => [this.own[node], this.ownBase[node]]);
    return { func: -1, nodes, weights, isLeafLevel: true, total: this.total[0], base: this.totalBase[0] };
  }

  /** Frames that a frame calls, or that call it if stacks are reversed: one for each function, the largest first. */
  children(frame) {
    const frames = new Map();
    const add = (node, total, base, weight) => {
      const func = this.func[node];
      let child = frames.get(func);
      if (!child) frames.set(func, (child = { func, nodes: [], weights: weight ? [] : null, total: 0, base: 0 }));
      child.nodes.push(node);
      if (weight) child.weights.push(weight);
      child.total += total;
      child.base += base;
    };
    for (let i = 0; i < frame.nodes.length; i++) {
      const node = frame.nodes[i];
      if (frame.weights) {
        const next = frame.isLeafLevel ? node : this.parent[node];
        if (next > 0) add(next, frame.weights[i][0], frame.weights[i][1], frame.weights[i]);
      } else {
        for (let child = node + 1; child < this.end[node]; child = this.end[child]) {
          if (this.total[child] > 0 || this.totalBase[child] > 0) add(child, this.total[child], this.totalBase[child]);
        }
      }
    }
    return [...frames.values()].sort((a, b) => b.total - a.total || b.base - a.base || a.func - b.func);
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

