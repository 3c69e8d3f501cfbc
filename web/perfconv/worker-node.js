// Workers of Node.js.

import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

/** Starts a worker that answers messages by `work.js`. */
export function startWorker() {
  // `node --input-type=module -e ...` would not start the worker, which is a file.
  const execArgv = process.execArgv.filter((option) => !option.startsWith('--input-type'));
  return new Worker(new URL('./worker-thread.js', import.meta.url), { execArgv });
}

/** What a session needs of a worker. */
export function connected(worker) {
  // A session that is not closed does not keep the process alive while no call runs.
  worker.unref();
  return {
    post: (message) => worker.postMessage(message),
    listen: (onMessage, onError) => {
      worker.removeAllListeners().on('message', onMessage).on('error', onError);
    },
    /** Keeps the process alive while calls run. */
    hold: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    stop: () => void worker.terminate(),
  };
}

/** Compiles a program, which is beside this file. */
export async function compile(name) {
  return WebAssembly.compile(await readFile(new URL(`./${name}.wasm`, import.meta.url)));
}

/** Files as workers of Node.js take them: these cannot wait for a Blob. */
export async function prepared(content) {
  return content instanceof Blob ? new Uint8Array(await content.arrayBuffer()) : content;
}
