// Files outside the memory, in Node.js.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A file of the system.
 * @param {string} url
 */
export function sourceOf(url) {
  const path = fileURLToPath(url);
  const { size, mtimeMs } = statSync(path);
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
