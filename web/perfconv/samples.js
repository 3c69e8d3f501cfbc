// Batches of samples, which the program `samples.wasm` writes to its standard output.

/** Columns of 64 bits, then those of 32 bits, in the order in which they are written. */
const WIDE = ['time', 'period', 'address'];
const NARROW = ['event', 'pid', 'tid', 'cpu', 'comm', 'stackEnd', 'mapping'];

/** Columns with an element per address; the others have one per sample. */
const OF_ADDRESSES = new Set(['address', 'mapping']);

/** Puts together batches from the pieces in which they are written. */
export class BatchReader {
  #pieces = [];
  #length = 0;
  #head;

  /** Adds a piece, and calls a function with each batch that is complete. */
  add(piece, onBatch) {
    this.#pieces.push(piece.slice());
    this.#length += piece.length;
    for (;;) {
      if (!this.#head) {
        const line = this.#line();
        if (line === undefined) return;
        this.#head = JSON.parse(line);
      }
      const { samples, addresses } = this.#head;
      const size = samples * (2 * 8 + 6 * 4) + addresses * (8 + 4);
      if (this.#length < size) return;
      onBatch(this.#batch(this.#take(size)));
      this.#head = undefined;
    }
  }

  #line() {
    if (!this.#pieces.some((piece) => piece.includes(10))) return undefined;
    const bytes = this.#all();
    return new TextDecoder().decode(this.#take(bytes.indexOf(10) + 1));
  }

  #batch(bytes) {
    const { samples, addresses, ...added } = this.#head;
    const batch = { length: samples };
    let at = 0;
    for (const name of [...WIDE, ...NARROW]) {
      const Numbers = WIDE.includes(name) ? BigUint64Array : Uint32Array;
      const length = OF_ADDRESSES.has(name) ? addresses : samples;
      const size = length * Numbers.BYTES_PER_ELEMENT;
      batch[name] = new Numbers(bytes.slice(at, at + size).buffer);
      at += size;
    }
    return { ...batch, added };
  }

  /** All bytes, as one piece. */
  #all() {
    if (this.#pieces.length > 1) {
      const all = new Uint8Array(this.#length);
      let at = 0;
      for (const piece of this.#pieces) {
        all.set(piece, at);
        at += piece.length;
      }
      this.#pieces = [all];
    }
    return this.#pieces[0] ?? new Uint8Array();
  }

  #take(size) {
    const all = this.#all();
    this.#pieces = [all.subarray(size)];
    this.#length -= size;
    return all.subarray(0, size);
  }
}
