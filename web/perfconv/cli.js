#!/usr/bin/env node
// The program perfconv on the files of the system.

import { readFile } from 'node:fs/promises';

// The module is announced as experimental on each start.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes('WASI')) emitWarning.call(process, warning, ...rest);
};
const { WASI } = await import('node:wasi');

const program = new WASI({
  version: 'preview1',
  args: ['perfconv', ...process.argv.slice(2)],
  env: { ...process.env, PWD: process.cwd() },
  preopens: { '/': '/' },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(new URL('./perfconv.wasm', import.meta.url)));
const instance = await WebAssembly.instantiate(module, program.getImportObject());
process.exitCode = program.start(instance);
