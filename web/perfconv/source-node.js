// Files outside the memory, in Node.js.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A file of the system.
 * @param {string} url
 */
export function sourceOf(url) {
  const path = fileURLToPath(url);
  const { size, mtimeMs } = stateOf(path);
  // Used again: the program copies what it reads.
  let buffer = new Uint8Array();
  return {
    size,
    modified: Math.trunc(mtimeMs),
    read(start, end) {
      const file = openSync(path);
      try {
        if (buffer.length < end - start) buffer = new Uint8Array(end - start);
        return buffer.subarray(0, readSync(file, buffer, 0, end - start, start));
      } finally {
        closeSync(file);
      }
    },
  };
}

/** Size and time of a regular file. */
function stateOf(path) {
  const failure = (kind, problem) => Object.assign(new Error(`${path}: ${problem}`), { kind, file: path });
  let state;
  try {
    state = statSync(path);
  } catch (error) {
    throw failure('io', `cannot open: ${error.code ?? error.message}`);
  }
  if (!state.isFile()) throw failure('input', "not a file; 'perfconv archive' packs a directory as one");
  return state;
}
