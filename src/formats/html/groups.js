/** The name of a pool of threads: names that differ in digits only are one. */
const poolName = (comm) => comm.replace(/[0-9]+/g, "<N>");

/** A process or thread ID; that of an exited one is -1. */
const idText = (id) => String(id === 0xffffffff ? -1 : id);

/** What samples can be grouped and filtered by: the key of a thread's group, its label, and words for one and several groups. */
const KINDS = {
  program: { one: "program", many: "programs", key: (thread) => thread.program, label: (thread) => thread.program },
  pid: { one: "process", many: "processes", key: ({ pid }) => pid, label: ({ program, pid }) => `${program} ${idText(pid)}` },
  tid: { one: "thread", many: "threads", key: ({ tid }) => tid, label: ({ comm, tid }) => `${comm} ${idText(tid)}` },
  pool: { one: "thread name", many: "thread names", key: ({ comm }) => poolName(comm), label: ({ comm }) => comm },
  comm: { one: "thread", many: "threads", key: ({ comm }) => comm, label: ({ comm }) => comm },
  cpu: { one: "CPU", many: "CPUs", key: ({ cpu }) => cpu, label: ({ cpu }) => `CPU ${cpu}` },
};

/** Groups of samples by one of the kinds, or by event, with the number of each thread's or event's group. */
class Grouping {
  constructor(tree, kind) {
    this.tree = tree;
    this.kind = kind;
    this.isByEvent = kind === "event";
    this.groups = [];
    if (this.isByEvent) {
      this.groups = tree.header.events.map(([label], index) => ({ key: String(index), label, samples: tree.eventSamples[index] }));
      this.ids = tree.header.events.map((_, index) => index);
      return;
    }
    const byKey = new Map();
    this.ids = tree.threads.map((thread, index) => {
      const key = String(KINDS[kind].key(thread) ?? "");
      if (!byKey.has(key)) {
        byKey.set(key, this.groups.length);
        this.groups.push({ key, label: "", samples: 0, most: -1, labels: new Set() });
      }
      const group = this.groups[byKey.get(key)];
      const samples = tree.threadSamples[index];
      const label = key === "" ? `unknown ${KINDS[kind].one}` : KINDS[kind].label(thread);
      group.samples += samples;
      group.labels.add(label);
      // Names of processes and threads change: the one with the most samples stands for all.
      if (samples > group.most) Object.assign(group, { label, most: samples });
      return byKey.get(key);
    });
    if (kind === "pool") for (const group of this.groups) if (group.labels.size > 1) group.label = group.key;
  }

  get words() {
    return this.isByEvent ? { one: "event", many: "events" } : KINDS[this.kind];
  }

  /** Number of groups with samples of the recording, not only of the base. */
  get count() {
    return this.groups.filter((group) => group.samples > 0).length;
  }

  /** Number of a row's group. */
  id(row) {
    return this.ids[this.isByEvent ? this.tree.rowEvent[row] : this.tree.rowThread[row]];
  }

  /** The rows for which `includes` is true by group: those of a group are from its start to the next one's in `order`. */
  rows(includes) {
    const { length } = this.tree.rowNode;
    const starts = new Int32Array(this.groups.length + 1);
    for (let row = 0; row < length; row++) if (includes(row)) starts[this.id(row) + 1]++;
    for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
    const order = new Int32Array(starts[this.groups.length]);
    const next = starts.slice();
    for (let row = 0; row < length; row++) if (includes(row)) order[next[this.id(row)]++] = row;
    return (group) => order.subarray(starts[group], starts[group + 1]);
  }
}

