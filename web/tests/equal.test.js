// Outputs of the package equal those of the program, byte for byte.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { PerfconvError, Recording } from 'perfconv';
import { native, recordings, REPO, withDirectory } from './common.js';

const OF_STACKS = ['pprof', 'folded', 'html', 'flamegraph', 'speedscope', 'firefox', 'perfetto', 'perf-script', 'report'];
const OF_RECORDS = ['jsonl', 'quipper', 'perf.data'];
const FORMATS = [...OF_STACKS, ...OF_RECORDS];

/** Whether flame graphs are equal but for their numbers, which are too large for 32 bits: the package has them in larger units. */
function isEqualButForUnits(natively, here) {
  const [expected, actual] = [natively, here].map((image) => Buffer.from(image).toString());
  const values = [...expected.matchAll(/ \(([\d,]+) ns, /g)].map(([, digits]) => Number(digits.replaceAll(',', '')));
  const withoutValues = (text) => text.replaceAll(/ \([\d,]+ (ns|µs), /g, ' (');
  return values.some((value) => value > 0xffffffff) && withoutValues(expected) === withoutValues(actual);
}

test('outputs of recordings', async () => {
  const paths = recordings();
  let [outputs, inOtherUnits, failures] = [0, 0, 0];
  const differences = [];
  for (const path of paths) {
    await withDirectory(async (directory) => {
      copyFileSync(path, join(directory, 'perf.data'));
      const recording = new Recording(readFileSync(path), { name: 'perf.data' });
      for (const format of FORMATS) {
        const options = OF_STACKS.includes(format) ? { symbols: 'no' } : {};
        const symbols = options.symbols ? ['--symbols', 'no'] : [];
        const expected = native(['perf.data', '-o', 'output', '-f', '-t', format, '-q', ...symbols], directory);
        const output = await recording.convert(format, options).catch((error) => error);
        if (typeof expected === 'number') {
          if (output instanceof PerfconvError) failures += 1;
          else differences.push(`${path} as ${format}: only natively rejected`);
          continue;
        }
        const bytes = readFileSync(join(directory, 'output'));
        if (output instanceof Error) differences.push(`${path} as ${format}: ${output}`);
        else if (bytes.equals(output)) outputs += 1;
        else if (format === 'flamegraph' && isEqualButForUnits(bytes, output)) inOtherUnits += 1;
        else differences.push(`${path} as ${format}: other bytes`);
      }
      recording.close();
    });
  }
  console.log(
    `${paths.length} recordings: ${outputs} outputs in ${FORMATS.length} formats equal, ${inOtherUnits} flame graphs but for their units, ` +
      `${failures} failures in both`,
  );
  assert.deepEqual(differences, []);
  assert(outputs >= 200);
});

test('names from files that are given by name alone', async () => {
  const symbols = join(REPO, 'roundtrip/symbols');
  const expected = native(['words.data', '-t', 'folded', '-o', '-', '--symfs', 'files', '-q'], symbols);
  assert(expected.includes('count_words'));
  const files = { words: readFileSync(join(symbols, 'files/opt/words/bin/words')) };
  const recording = new Recording(readFileSync(join(symbols, 'words.data')), { name: 'words.data', files });
  assert(expected.equals(await recording.convert('folded')));
  assert.deepEqual((await recording.missingSymbols()).objects, []);
  recording.close();
  const without = new Recording(readFileSync(join(symbols, 'words.data')));
  const { objects } = await without.missingSymbols();
  assert.equal(basename(objects[0].name), 'words');
  assert.match(objects[0].build_id, /^[0-9a-f]{40}$/);
  without.close();
});
