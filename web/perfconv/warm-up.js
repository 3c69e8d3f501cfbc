// A call before the first recording. Browsers and Node.js compile the functions of a program when they are first used, and optimize
// those that are used much, once for all workers.

import { generatedRecording } from './generated.js';
import { Recording } from './recording.js';

/** Number of samples: enough that the functions that decode, count and write them are optimized. */
const SAMPLES = 20_000;

/** Converts a generated recording. */
export async function warmUp(format, { signal } = {}) {
  const recording = new Recording(generatedRecording(SAMPLES));
  try {
    await recording.convert(format, { signal });
  } finally {
    recording.close();
  }
}
