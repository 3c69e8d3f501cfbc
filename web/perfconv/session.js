// A worker with the files of a recording. Calls are carried out one after the other; a call that is aborted ends the worker, and the
// next call starts another.

import { compile, connected, prepared, startWorker } from '#worker';
import { PerfconvError } from './error.js';

let settings = { compile, startWorker };
const compiled = new Map();

/** Replaces where the programs and their worker come from. */
export function configure(changes) {
  settings = { ...settings, ...changes };
  compiled.clear();
}

/** A program, which is compiled once. */
async function program(name) {
  if (!compiled.has(name)) compiled.set(name, settings.compile(name));
  try {
    return await compiled.get(name);
  } catch (error) {
    compiled.delete(name);
    throw error;
  }
}

export class Session {
  #files;
  /** A worker, and the names of its programs. */
  #worker;
  #last = Promise.resolve();
  #calls = 0;
  #isClosed = false;
  #fail = () => {};

  /** @param {[string, Uint8Array | Blob | string][]} files paths and contents, or URLs of files */
  constructor(files) {
    this.#files = files;
  }

  /**
   * Runs a program with arguments, when the calls before it are done.
   * @param {string} name
   * @param {string[]} args
   * @param {{ signal?: AbortSignal, onLine?: (line: string) => void, onBatch?: (batch: object) => void }} options
   */
  run(name, args, options = {}) {
    const turn = this.#last.then(() => this.#runNow(name, args, options));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #runNow(name, args, { signal, onLine, onBatch }) {
    signal?.throwIfAborted();
    const worker = await this.#workerWith(name);
    signal?.throwIfAborted();
    if (this.#isClosed) throw closed();
    const id = ++this.#calls;
    const stop = () => this.#stop(signal.reason);
    signal?.addEventListener('abort', stop, { once: true });
    worker.hold?.(true);
    try {
      return await new Promise((resolve, reject) => {
        this.#fail = reject;
        worker.listen((message) => {
          if (message.id !== id) return;
          if (message.line !== undefined) onLine?.(message.line);
          else if (message.batch) onBatch?.(message.batch);
          else if (message.result) resolve(message.result);
          else reject(new PerfconvError(message.failure));
        }, (error) => this.#stop(error));
        worker.post({ id, name, args });
      });
    } finally {
      signal?.removeEventListener('abort', stop);
      worker.hold?.(false);
    }
  }

  async #workerWith(name) {
    const module = await program(name);
    if (!this.#worker) {
      const files = await Promise.all(this.#files.map(async ([path, content]) => [path, await prepared(content)]));
      this.#worker = { worker: connected(settings.startWorker()), names: new Set() };
      this.#worker.worker.post({ files });
    }
    const { worker, names } = this.#worker;
    if (!names.has(name)) worker.post({ name, module });
    names.add(name);
    return worker;
  }

  /** Ends the worker, and the call that runs. */
  #stop(reason) {
    this.#worker?.worker.stop();
    this.#worker = undefined;
    this.#fail(reason);
  }

  /** Ends the worker; calls fail from now on. */
  close() {
    this.#isClosed = true;
    this.#stop(closed());
  }
}

function closed() {
  return new PerfconvError({ kind: 'closed', message: 'the recording is closed' });
}
