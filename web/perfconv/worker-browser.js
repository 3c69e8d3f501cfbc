// Workers of browsers.

/** Starts a worker that answers messages by `work.js`. */
export function startWorker() {
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** What a session needs of a worker. */
export function connected(worker) {
  return {
    post: (message) => worker.postMessage(message),
    listen: (onMessage, onError) => {
      worker.onmessage = ({ data }) => onMessage(data);
      worker.onerror = (event) => onError(new Error(event.message || 'the worker cannot be started'));
    },
    stop: () => worker.terminate(),
  };
}

const LOCATIONS = {
  perfconv: () => new URL('./perfconv.wasm', import.meta.url),
  samples: () => new URL('./samples.wasm', import.meta.url),
};

/** Compiles a program, which is beside this file. */
export function compile(name) {
  return WebAssembly.compileStreaming(fetch(LOCATIONS[name]()));
}

/** Files as workers of browsers take them: they read the ranges of a Blob that are needed. */
export async function prepared(content) {
  if (typeof content === 'string') throw new TypeError('only Node.js reads files by their URL');
  return content;
}
