// A recording to warm up with: a few threads with many stacks, in user space and in the kernel.

/** Sizes of the header, and of the event with the section of its IDs. */
const [SIZE_OF_HEADER, SIZE_OF_ATTR] = [104, 128];

/** Types of records. */
const [COMM, SAMPLE, MMAP2] = [3, 9, 10];

/** Values of the kernel for the CPU mode of a record, and in call chains before addresses of the kernel and of the program. */
const [KERNEL, USER] = [1, 2];
const [KERNEL_CONTEXT, USER_CONTEXT] = [-128, -512];

/** Fields of samples: IP, TID, TIME, CPU, PERIOD, CALLCHAIN. */
const SAMPLE_TYPE = 0x1 | 0x2 | 0x4 | 0x80 | 0x100 | 0x20;

/** Flags of the event: mmap, comm, task, sample_id_all, mmap2. */
const FLAGS = (1 << 8) | (1 << 9) | (1 << 13) | (1 << 18) | (1 << 23);

const MAX_DEPTH = 40;

class Writer {
  #view;
  #at = 0;

  constructor(size) {
    this.#view = new DataView(new ArrayBuffer(size));
  }

  get bytes() {
    return new Uint8Array(this.#view.buffer, 0, this.#at);
  }

  /** Writes numbers of 32 bits. */
  halves(...values) {
    for (const value of values) {
      this.#view.setInt32(this.#at, value, true);
      this.#at += 4;
    }
  }

  /** Writes numbers of 64 bits. */
  words(...values) {
    for (const value of values) this.halves(value, Math.floor(value / 2 ** 32));
  }

  /** Writes a text in a number of bytes. */
  text(text, size) {
    new TextEncoder().encodeInto(text, new Uint8Array(this.#view.buffer, this.#at, size));
    this.#at += size;
  }

  /** Writes a record, whose size is known after its body. */
  record(type, mode, writeBody) {
    const start = this.#at;
    this.halves(type, mode);
    writeBody();
    this.#view.setUint16(start + 6, this.#at - start, true);
  }

  /** Corrects the size of the records. */
  finish() {
    this.#view.setInt32(48, this.#at - SIZE_OF_HEADER - SIZE_OF_ATTR, true);
    return this.bytes;
  }
}

/**
 * The bytes of a file with samples of cycles.
 * @param {number} samples
 */
export function generatedRecording(samples) {
  const writer = new Writer(4096 + samples * (MAX_DEPTH + 9) * 8);
  let state = 1;
  const random = (limit) => {
    state = (state * 48271) % 0x7fffffff;
    return state % limit;
  };
  writer.text('PERFILE2', 8);
  writer.words(SIZE_OF_HEADER, SIZE_OF_ATTR, SIZE_OF_HEADER, SIZE_OF_ATTR, SIZE_OF_HEADER + SIZE_OF_ATTR);
  // The size of the records, no event types, no features.
  writer.words(0, 0, 0, 0, 0, 0, 0);
  // The hardware event 0 is cycles. It has no IDs.
  writer.halves(0, SIZE_OF_ATTR - 16);
  writer.words(0, 1000, SAMPLE_TYPE, 0, FLAGS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  let time = 1_000_000;
  const ofThread = (tid) => writer.halves(100, tid);
  const endOf = (tid) => {
    ofThread(tid);
    writer.words(time, 0);
  };
  for (const tid of [100, 101, 102, 103]) {
    writer.record(COMM, USER, () => {
      ofThread(tid);
      writer.text(`thread-${tid}`, 16);
      endOf(tid);
    });
  }
  for (const [start, name] of [[0x400000, '/usr/bin/app'], [0x10000000, '/usr/lib/libwork.so.1']]) {
    writer.record(MMAP2, USER, () => {
      ofThread(100);
      writer.words(start, 0x800000, 0);
      // Device, inode, protection and flags.
      writer.halves(8, 1, start, 0, 0, 0, 5, 2);
      writer.text(name, 24);
      endOf(100);
    });
  }
  for (let index = 0; index < samples; index += 1) {
    const [tid, mode, depth] = [100 + random(4), random(4) === 0 ? KERNEL : USER, 4 + random(MAX_DEPTH - 8)];
    time += 1 + random(50_000);
    // Callers are the same more often the further out they are.
    const frame = (at) => (at % 3 === 0 ? 0x10000000 : 0x400000) + 16 * random(4 + 40 * Math.max(0, 8 - at)) + 4096 * at;
    writer.record(SAMPLE, mode, () => {
      writer.words(mode === KERNEL ? -0x7eff0000 : 0x400000);
      ofThread(tid);
      writer.words(time, random(4), 1000);
      const inKernel = mode === KERNEL ? [KERNEL_CONTEXT, -0x7eff0000 + 16 * random(500), -0x7ef00000 + 16 * random(50)] : [];
      writer.words(inKernel.length + 1 + depth, ...inKernel, USER_CONTEXT);
      for (let at = 0; at < depth; at += 1) writer.words(frame(at));
    });
  }
  return writer.finish();
}
