/** Instructions before and after those with samples that are shown at first. */
const CONTEXT = 3;

/** Source lines and instructions of functions, with their samples, if the page contains them. */
class Code {
  constructor({ header, columns }) {
    this.isEmbedded = header.code !== undefined;
    if (!this.isEmbedded) return;
    const text = (id) => (id === 0 ? null : header.strings[id - 1]);
    const [steps, texts, positions, described, samples] = columns.slice(-5);
    this.header = header.code;
    this.positions = [];
    for (let at = 0; at < described.length; at += 4 + described[at + 3]) {
      const inlined = Array.from(described.subarray(at + 4, at + 4 + described[at + 3]), (id) => header.strings[id]);
      this.positions.push({ file: text(described[at]), line: described[at + 1], source: text(described[at + 2]), inlined });
    }
    // Own and total samples, own and total values, by event.
    const usage = new Map();
    for (let at = 0, number = 0; at < samples.length; at += 6) {
      number += samples[at];
      const [event, ownSamples, own, totalSamples, total] = samples.subarray(at + 1, at + 6);
      if (!usage.has(number)) usage.set(number, []);
      usage.get(number).push({ event, ownSamples, own, totalSamples, total });
    }
    let number = 0;
    this.functions = header.code.functions.map(({ name, dso, start, count, ...rest }) => {
      // Addresses have 64 bits.
      let address = BigInt(`0x${start}`);
      const instructions = [];
      for (let i = 0; i < count; i++, number++) {
        address += BigInt(steps[number]);
        instructions.push({ address, text: text(texts[number]), position: positions[number], usage: usage.get(number) ?? [] });
      }
      return { name: header.strings[name], dso: header.strings[dso], instructions, ...rest };
    });
  }

  /** The parts of the code that a function has: itself, and where it is inlined. */
  parts({ full, dso }) {
    const own = this.functions.filter((func) => func.name === full && func.dso === dso);
    const inlined = this.functions.filter((func) => !own.includes(func) && func.dso === dso).map((func) => {
      const isInlined = ({ position }) => this.positions[position].inlined.includes(full);
      return { ...func, into: func.name, instructions: func.instructions.filter(isInlined) };
    });
    return [...own, ...inlined.filter(({ instructions }) => instructions.length > 0)];
  }

  /** Own and total weight of instructions, of some events by their index, or by samples. */
  weights(instructions, isEvent, bySamples) {
    let [own, total] = [0, 0];
    for (const { usage } of instructions) {
      for (const entry of usage) {
        if (!isEvent[entry.event]) continue;
        own += bySamples ? entry.ownSamples : entry.own;
        total += bySamples ? entry.totalSamples : entry.total;
      }
    }
    return { own, total };
  }

  /** Which instructions are near one with samples. */
  near(instructions) {
    const near = new Uint8Array(instructions.length);
    instructions.forEach(({ usage }, i) => {
      if (usage.length > 0) near.fill(1, Math.max(i - CONTEXT, 0), i + CONTEXT + 1);
    });
    return near;
  }
}

/** The panel with the code of the selected function. */
class CodePanel {
  constructor(code) {
    Object.assign(this, { code, isWhole: false, isEvent: [], bySamples: false });
  }

  /** The elements of the panel; none if the page has no code. */
  draw(func, onChange) {
    const { code } = this;
    if (!code.isEmbedded || func.isGroup) return [];
    const parts = code.parts(func);
    if (parts.length === 0) {
      const reason = code.header.omitted > 0 ? "The page has the code of the functions with the most own samples only." : "It has no own samples with a known place.";
      return [element("h3", "Code"), element("p", reason)];
    }
    const button = element("button", this.isWhole ? "Only around samples" : "All instructions");
    button.addEventListener("click", () => {
      this.isWhole = !this.isWhole;
      onChange();
    });
    return [element("h3", "Code"), element("p", null, button, element("small", " samples of all threads and times")), ...parts.flatMap((part) => this.part(part))];
  }

  part(part) {
    const notes = [];
    if (part.into) notes.push(`inlined into ${part.into}`);
    if (part.missing) notes.push(`instructions are unknown: ${part.missing}`);
    for (const file of part.newer) notes.push(`${file} is newer than the program, so lines may differ`);
    if (part.omitted > 0) notes.push(`${part.omitted} instructions far from samples are not in this page`);
    const all = this.code.weights(part.instructions, this.isEvent, this.bySamples);
    const near = this.isWhole ? null : this.code.near(part.instructions);
    const rows = [];
    let block = [];
    const end = () => {
      if (block.length > 0) rows.push(...this.block(block, all));
      block = [];
    };
    part.instructions.forEach((instruction, i) => {
      if (near && near[i] === 0) return;
      if (block.length > 0 && block[0].position !== instruction.position) end();
      block.push(instruction);
    });
    end();
    return [...notes.map((note) => element("p", note)), element("table", null, element("tbody", null, ...rows))];
  }

  /** The row of a source line, and those of its instructions. */
  block(instructions, all) {
    const { file, line, source, inlined } = this.code.positions[instructions[0].position];
    const lineName = file === null ? "unknown line" : `${file.split("/").pop()}:${line > 0 ? line : "?"}`;
    const content = element("td", null, element("b", lineName), ` ${source ?? ""}`);
    if (inlined.length > 0) content.append(element("small", ` inlined ${inlined.join(" \u2190 ")}`));
    if (file !== null) content.title = file;
    const rows = [this.row(instructions, all, content, "line")];
    if (this.code.header.code) {
      for (const instruction of instructions) {
        const content = element("td", null, element("small", instruction.address.toString(16)), ` ${instruction.text ?? ""}`);
        rows.push(this.row([instruction], all, content, "instruction"));
      }
    }
    return rows;
  }

  row(instructions, all, content, kind) {
    const { own, total } = this.code.weights(instructions, this.isEvent, this.bySamples);
    const whole = Math.max(all.own, all.total, 1);
    const bar = element("i", null);
    bar.style.width = `${(Math.min(Math.max(own, total), whole) * 100) / whole}%`;
    const share = element("td", own > 0 ? percent(own, all.own) : "");
    share.title = `${percent(total, whole)} with what it calls`;
    share.append(bar);
    const row = element("tr", null, share, content);
    row.className = kind;
    row.dataset.self = own;
    return row;
  }
}
