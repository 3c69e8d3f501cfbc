// Calls of the package: what they return, their errors, and how they end early.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { open, PerfconvError, Recording, warmUp } from 'perfconv';
import { generatedRecording } from '../perfconv/generated.js';
import { native, REPO, withDirectory } from './common.js';

const FIXTURES = join(REPO, 'roundtrip/fixtures');
const CALLGRAPH = join(FIXTURES, 'callgraph.data');

test('samples are those of perf script', async () => {
  const recording = await open(readFileSync(CALLGRAPH));
  const expected = native(['dump', CALLGRAPH, '--type', 'SAMPLE'], REPO);
  const [times, stacks] = [[], []];
  for await (const batch of recording.samples()) {
    let start = 0;
    for (let index = 0; index < batch.length; index += 1) {
      times.push(batch.time[index]);
      stacks.push(batch.address.slice(start, batch.stackEnd[index]));
      assert.equal(typeof batch.comms[batch.comm[index]], 'string');
      assert.equal(typeof batch.events[batch.event[index]], 'string');
      start = batch.stackEnd[index];
    }
    assert.equal(start, batch.address.length);
    const mapped = [...batch.mapping].filter((mapping) => mapping !== 0xffffffff);
    assert(mapped.length > 0 && mapped.every((mapping) => batch.mappings[mapping].path));
  }
  assert(times.length > 0);
  assert(expected.length > 0);
  const script = native([CALLGRAPH, '-t', 'perf-script', '-o', '-', '-F', 'time', '--ns', '--symbols', 'no', '-q'], REPO);
  const seconds = script.toString().match(/^ *\d+\.\d+(?=:)/gm).map((text) => BigInt(text.trim().replace('.', '')));
  assert.deepEqual(times, seconds);
  assert(stacks.some((stack) => stack.length > 1));
  recording.close();
});

test('errors have kind, offset and record', async () => {
  await assert.rejects(open(new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8])), (error) => {
    assert(error instanceof PerfconvError);
    assert.equal(error.kind, 'input');
    assert.match(error.message, /^perf\.data: /);
    return true;
  });
  const recording = await open(readFileSync(CALLGRAPH));
  await assert.rejects(recording.convert('no-such-format'), { kind: 'arguments' });
  await assert.rejects(recording.convert('pprof', { noSuchOption: true }), { kind: 'arguments' });
  await assert.rejects(recording.convert('pprof', { 'a b': 1 }), { kind: 'arguments' });
  await assert.rejects(recording.convert('pprof', { event: 'none' }), { kind: 'input', message: /unknown event 'none'/ });
  recording.close();
  await assert.rejects(recording.info(), { kind: 'closed' });
});

test('files that cannot be opened are named', async () => {
  const missing = join(FIXTURES, 'no-such.data');
  await assert.rejects(open(pathToFileURL(missing)), { kind: 'io', file: missing, message: /no-such.data: cannot open: ENOENT/ });
  await assert.rejects(open(pathToFileURL(FIXTURES)), { kind: 'input', file: FIXTURES, message: /: not a file; / });
  await assert.rejects(open('perf.data'), { name: 'TypeError', message: /pathToFileURL/ });
  const files = { server: pathToFileURL(missing) };
  await assert.rejects(open(readFileSync(CALLGRAPH), { files }), { kind: 'io', file: missing });
});

test('calls report progress and messages, and can be aborted', async () => {
  const recording = await open(new Blob([readFileSync(CALLGRAPH)]), { name: 'x.data' });
  const [progress, messages] = [[], []];
  await recording.convert('folded', { onProgress: (state) => progress.push(state), onMessage: (line) => messages.push(line) });
  assert(progress.some(({ work, done, total }) => work === 'reading' && done <= total));
  assert(messages.some((line) => line.includes('377 samples in')), messages.join('\n'));
  const opened = [[], []];
  const own = { onProgress: (state) => opened[0].push(state), onMessage: (line) => opened[1].push(line) };
  const listening = await open(readFileSync(CALLGRAPH), own);
  await listening.convert('folded');
  assert(opened[0].some(({ work }) => work === 'reading'), 'functions of open are called in later calls');
  assert(opened[1].some((line) => line.includes('377 samples in')));
  const lines = opened[1].length;
  await listening.convert('folded', { onMessage: () => {} });
  assert.equal(opened[1].length, lines, 'a call can have its own');
  listening.close();
  const abort = new AbortController();
  const aborted = recording.convert('html', { signal: abort.signal });
  setTimeout(() => abort.abort(), 1);
  await assert.rejects(aborted, { name: 'AbortError' });
  // The next call starts another worker.
  assert((await recording.convert('folded')).length > 0);
  for await (const batch of recording.samples()) {
    assert(batch.length > 0);
    break;
  }
  recording.close();
});

test('reports, findings and information are those of the program', async () => {
  const recording = await open(readFileSync(CALLGRAPH), { name: 'callgraph.data' });
  const json = (args) => JSON.parse(native(args, FIXTURES));
  const { captured_on: _, ...header } = (await recording.info()).header;
  const { captured_on: __, ...expected } = json(['info', '--json', 'callgraph.data']).header;
  assert.deepEqual(header, expected);
  const report = json(['report', '--json', 'callgraph.data', '--symbols', 'no', '-q']);
  assert.deepEqual(await recording.report({ symbols: 'no' }), report);
  assert.deepEqual(await recording.check(), []);
  const { status, files } = await recording.run(['{}', '-o', '/out/tables', '-t', 'csv', '-q']);
  assert.equal(status, 0);
  assert(files.has('tables/overview.csv'), [...files.keys()].join());
  recording.close();
});

test('a warm-up converts a recording without faults', async () => {
  const recording = new Recording(generatedRecording(1000));
  assert.deepEqual(await recording.check(), []);
  const stacks = [];
  for await (const { address, stackEnd } of recording.samples()) {
    stackEnd.forEach((end, index) => stacks.push(address.slice(stackEnd[index - 1] ?? 0, end).join()));
  }
  assert.equal(stacks.length, 1000);
  assert(new Set(stacks).size > 500);
  recording.close();
  await warmUp('pprof');
  await assert.rejects(warmUp('pprof', { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a file of the system is read in parts', async () => {
  const recording = await open(pathToFileURL(CALLGRAPH));
  assert.equal(recording.name, 'callgraph.data');
  const expected = native([CALLGRAPH, '-t', 'folded', '-o', '-', '--symbols', 'no', '-q'], REPO);
  assert(expected.equals(await recording.convert('folded', { symbols: 'no' })));
  recording.close();
  await assert.rejects(open(new URL('https://localhost/perf.data')), TypeError);
  await withDirectory(async (directory) => {
    // The kernel's maxRSS begins with that of the process that started this one.
    const script = (url) => `
      import { readFileSync } from 'node:fs';
      import { open } from 'perfconv';
      const recording = await open(new URL('${url}'));
      const { stats } = await recording.info({ stats: true });
      const [kilobytes] = readFileSync('/proc/self/status', 'utf8').match(/(?<=VmHWM:\\s+)\\d+/);
      console.log(JSON.stringify({ samples: stats.records.SAMPLE.records, memory: kilobytes * 1024 }));`;
    const [small, large] = [1_000, 400_000].map((samples) => {
      const path = join(directory, `${samples} samples.data`);
      writeFileSync(path, generatedRecording(samples));
      const args = ['--input-type=module', '-e', script(pathToFileURL(path))];
      const result = JSON.parse(execFileSync(process.execPath, args, { cwd: join(REPO, 'web') }));
      assert.equal(result.samples, samples);
      return { ...result, size: statSync(path).size };
    });
    console.log(`${large.size} bytes of file take ${large.memory - small.memory} bytes of memory`);
    assert(large.size > 80e6 && large.memory - small.memory < large.size / 2, JSON.stringify([small, large]));
  });
});

test('the command is the program', async () => {
  await withDirectory((directory) => {
    const command = join(REPO, 'web/perfconv/cli.js');
    const run = (...args) => execFileSync(process.execPath, [command, ...args], { cwd: directory, encoding: 'utf8' });
    assert.match(run('--version'), /^perfconv \d/);
    run(CALLGRAPH, '-o', 'out.folded', '--symbols', 'no');
    const expected = native([CALLGRAPH, '-t', 'folded', '-o', '-', '--symbols', 'no', '-q'], REPO);
    assert(expected.equals(readFileSync(join(directory, 'out.folded'))));
    run(CALLGRAPH, '-o', 'out.folded', '--symbols', 'no', '--head', '1', '-f');
    const shorter = readFileSync(join(directory, 'out.folded'));
    assert(shorter.length > 0 && shorter.length < expected.length);
    assert.throws(() => run('man', 'pages'), ({ status, stderr }) => status === 2 && /does not have this command/.test(stderr));
    assert.throws(() => run('missing.data', '-o', 'x.pb.gz'), ({ status, stderr }) => status === 1 && /missing\.data/.test(stderr));
  });
});
