// Runs programs, which are compiled to WebAssembly, on files in memory.

import { Fd, PreopenDirectory, wasi, WASI, WASIProcExit } from '@bjorn3/browser_wasi_shim';
import { filesBelow, MemoryDirectory, rootOf } from './files.js';

/** Options of all runs: there is no terminal, and failures are read by a program. */
const ENVIRONMENT = ['PERFCONV_ERRORS=json', 'NO_COLOR=1', 'LC_ALL=C.UTF-8'];

/** A stream: not a terminal. */
class Stream extends Fd {
  constructor(write = () => {}) {
    super();
    this.write = write;
  }

  fd_fdstat_get() {
    return { ret: 0, fdstat: new wasi.Fdstat(wasi.FILETYPE_SOCKET_STREAM, 0) };
  }

  fd_filestat_get() {
    return { ret: 0, filestat: new wasi.Filestat(0n, wasi.FILETYPE_SOCKET_STREAM, 0n) };
  }

  /** There is no input. */
  fd_read() {
    return { ret: 0, data: new Uint8Array() };
  }

  fd_write(bytes) {
    this.write(bytes);
    return { ret: 0, nwritten: bytes.length };
  }
}

/** Calls a function with each line. */
function byLines(onLine) {
  const decoder = new TextDecoder();
  let rest = '';
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop();
    lines.forEach(onLine);
  };
}

/** The root directory, which the program may use. */
class Root extends PreopenDirectory {
  constructor(root) {
    super('/', new Map());
    this.dir = root;
  }
}

/**
 * Runs the program.
 * @param {WebAssembly.Module} module
 * @param {string[]} args arguments, without the name of the program
 * @param {Iterable<[string, Uint8Array | Blob | string]>} files paths and contents
 * @param {{ onLine: (line: string) => void, onOutput?: (bytes: Uint8Array) => void }} calls what is called with each line of
 *   standard error, and with each piece of standard output, which is collected by default
 * @returns {{ status: number, stdout: Uint8Array, files: Map<string, Uint8Array> }} the exit status, standard output, and the
 *   files in the directory `/out`
 */
export function run(module, args, files, { onLine, onOutput }) {
  const root = rootOf(files);
  const output = [];
  const fds = [
    new Stream(),
    new Stream(onOutput ?? ((bytes) => output.push(bytes.slice()))),
    new Stream(byLines(onLine)),
    new Root(root),
  ];
  const program = new WASI(['perfconv', ...args], ENVIRONMENT, fds, { debug: false });
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: program.wasiImport });
  const status = start(program, instance);
  const out = root.contents.get('out');
  return { status, stdout: joined(output), files: new Map(out instanceof MemoryDirectory ? filesBelow(out) : []) };
}

function start(program, instance) {
  try {
    return program.start(instance);
  } catch (error) {
    if (error instanceof WASIProcExit) return error.code;
    throw error;
  }
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
