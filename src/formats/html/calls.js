/** Calls with the weights of samples: nodes in depth-first order, after the root. `end` is the node after the last of a subtree. */
class Calls {
  constructor({ parent, func, end }) {
    Object.assign(this, { parent, func, end });
  }

  /** Starts with no samples. */
  clear() {
    const zeros = () => new Float64Array(this.parent.length);
    [this.own, this.ownBase, this.ownSamples] = [zeros(), zeros(), zeros()];
    this.ownSides = this.ratio ? [zeros(), zeros(), zeros(), zeros()] : [];
  }

  /** Adds the weights of all nodes to those of their callers. */
  sum() {
    this.total = this.own.slice();
    this.totalBase = this.ownBase.slice();
    this.totalSamples = this.ownSamples.slice();
    this.totalSides = this.ownSides.map((side) => side.slice());
    for (let node = this.parent.length - 1; node > 0; node--) {
      const parent = this.parent[node];
      this.total[parent] += this.total[node];
      this.totalBase[parent] += this.totalBase[node];
      this.totalSamples[parent] += this.totalSamples[node];
      for (const side of this.totalSides) side[parent] += side[node];
    }
  }

  /** The frame of all stacks. Stacks are merged from their roots, or reversed from their leaves. */
  root(isReversed) {
    const frame = { func: -1, calls: this, nodes: [0], weights: null, total: this.total[0], base: this.totalBase[0], samples: this.totalSamples[0], self: this.own[0], sides: this.totalSides.map((side) => side[0]) };
    if (!isReversed) return frame;
    const nodes = [];
    const lists = [this.own, this.ownBase, this.ownSamples, ...this.ownSides];
    for (let node = 1; node < this.own.length; node++) if (lists.some((list) => list[node] > 0)) nodes.push(node);
    const weights = nodes.map((node) => lists.map((list) => list[node]));
    return { ...frame, nodes, weights, isLeafLevel: true };
  }

  /** Frames that a frame calls, or that call it if stacks are reversed: one for each function, the largest first. */
  children(frame) {
    const frames = new Map();
    const add = (node, [total, base, samples, ...sides], self, weight) => {
      const func = this.func[node];
      let child = frames.get(func);
      if (!child) frames.set(func, (child = { func, calls: this, nodes: [], weights: weight ? [] : null, total: 0, base: 0, samples: 0, self: 0, sides: sides.map(() => 0) }));
      child.nodes.push(node);
      if (weight) child.weights.push(weight);
      child.total += total;
      child.base += base;
      child.samples += samples;
      child.self += self;
      for (let i = 0; i < sides.length; i++) child.sides[i] += sides[i];
    };
    for (let i = 0; i < frame.nodes.length; i++) {
      const node = frame.nodes[i];
      if (frame.weights) {
        const next = frame.isLeafLevel ? node : this.parent[node];
        const weight = frame.weights[i];
        if (next > 0) add(next, weight, frame.isLeafLevel ? weight[0] : 0, weight);
      } else {
        for (let child = node + 1; child < this.end[node]; child = this.end[child]) {
          const sides = this.totalSides.map((side) => side[child]);
          const isEmpty = this.total[child] === 0 && this.totalBase[child] === 0;
          if (isEmpty && sides.every((side) => side === 0)) continue;
          add(child, [this.total[child], this.totalBase[child], this.totalSamples[child], ...sides], this.own[child], null);
        }
      }
    }
    return [...frames.values()].sort((a, b) => b.total - a.total || b.base - a.base || a.func - b.func);
  }

  /** The part of these calls that leads to some nodes, without weights, and the numbers that these nodes have in it. */
  part(nodes) {
    // One more than the new number of each node; 0 for those that are not in the part. Reused: a part is mostly much smaller.
    const numbers = (this.numbers ??= new Int32Array(this.parent.length));
    const list = [0];
    numbers[0] = 1;
    for (const node of nodes) {
      for (let at = node; numbers[at] === 0; at = this.parent[at]) {
        numbers[at] = 1;
        list.push(at);
      }
    }
    const sorted = Int32Array.from(list).sort();
    sorted.forEach((node, i) => (numbers[node] = i + 1));
    const parent = sorted.map((node) => numbers[this.parent[node]] - 1);
    const own = nodes.map((node) => numbers[node] - 1);
    for (const node of sorted) numbers[node] = 0;
    const end = sorted.map((_, i) => i + 1);
    for (let i = sorted.length - 1; i > 0; i--) end[parent[i]] = Math.max(end[parent[i]], end[i]);
    return { calls: new Calls({ parent, func: sorted.map((node) => this.func[node]), end }), own };
  }
}

