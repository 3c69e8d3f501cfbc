// Options of JavaScript as arguments of the program.

import { PerfconvError } from './error.js';

/** Options that are of calls, not of the program. */
const OF_CALLS = new Set(['signal', 'onProgress', 'onMessage']);

/**
 * The arguments: `{ offCpu: true, event: ['cycles', 'faults'] }` gives `--off-cpu --event=cycles --event=faults`.
 * @param {Record<string, unknown>} options
 */
export function argumentsOf(options) {
  return Object.entries(options).flatMap(([name, value]) => {
    if (OF_CALLS.has(name)) return [];
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name)) {
      throw new PerfconvError({ kind: 'arguments', message: `unknown option '${name}'` });
    }
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [value].flat().flatMap((value) => {
      if (value === undefined || value === null || value === false) return [];
      return [value === true ? option : `${option}=${value}`];
    });
  });
}
