export { PerfconvError } from './error.js';
export { Recording } from './recording.js';
export { configure } from './session.js';
export { warmUp } from './warm-up.js';

import { Recording } from './recording.js';

/** Opens a recording. */
export async function open(input, options) {
  const recording = new Recording(input, options);
  try {
    // Fails now rather than in the first call if it is no recording.
    await recording.info({ ...options?.info, signal: options?.signal });
  } catch (error) {
    recording.close();
    throw error;
  }
  return recording;
}
