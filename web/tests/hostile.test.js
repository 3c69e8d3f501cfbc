// Damaged and hostile inputs: an output, or an exception about the input, within a time.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PerfconvError, Recording } from 'perfconv';
import { filesBelow, REPO } from './common.js';

/** How long one input may take, in milliseconds. */
const LIMIT = 60_000;

test('hostile inputs', async () => {
  const directories = ['tests/fuzzed/corpus/open', '../shared/reports'].map((directory) => filesBelow(join(REPO, directory)));
  let [outputs, errors] = [0, 0];
  for (const path of directories.flat()) {
    const recording = new Recording(readFileSync(path));
    try {
      await recording.convert('pprof', { signal: AbortSignal.timeout(LIMIT) });
      outputs += 1;
    } catch (error) {
      assert(error instanceof PerfconvError && error.kind !== 'crash', `${path}: ${error}`);
      errors += 1;
    }
    recording.close();
  }
  console.log(`${outputs} inputs were converted, ${errors} rejected`);
  assert(directories[0].length > 0 && outputs + errors >= 20);
});
