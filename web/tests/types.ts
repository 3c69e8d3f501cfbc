// The declarations of the package describe its use: checked by tsc, not run.

import { configure, open, PerfconvError, type SampleBatch, warmUp } from 'perfconv';

await warmUp('html', { signal: AbortSignal.timeout(1000) });

const recording = await open(new Uint8Array(), { name: 'perf.data', files: { kallsyms: new Blob([]) } });
const bytes: Uint8Array = await recording.convert('pprof', { symbols: 'no', offCpu: true, event: ['cycles', 'faults'] });
await recording.convert('profile.pb.gz', { onProgress: ({ done, total }) => void [done, total] });
const batches: SampleBatch[] = [];
for await (const batch of recording.samples({ signal: AbortSignal.timeout(1000) })) batches.push(batch);
const missing: string[] = (await recording.missingSymbols()).objects.map(({ name }) => name);
const hottest: string | undefined = (await recording.report()).entries[0]?.sym;
const { status, files } = await recording.run(['info', '{}']);
try {
  await recording.check();
} catch (error) {
  if (error instanceof PerfconvError && error.kind === 'input') void error.record?.index;
}
configure({ startWorker: () => new Worker('worker.js') });
recording.close();
// @ts-expect-error: formats are checked
await recording.convert('no-such-format');
// @ts-expect-error: options with a type are checked
await recording.convert('pprof', { symbols: 'some' });
export { batches, bytes, files, hottest, missing, status };
