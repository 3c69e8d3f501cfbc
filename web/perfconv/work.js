// What a worker does: it keeps programs and the files of a recording, and runs the programs on them.

import { run } from './program.js';
import { BatchReader } from './samples.js';

/**
 * Answers the messages of a session.
 * @param {(message: object, transferred?: ArrayBuffer[]) => void} post
 * @returns {(message: object) => void} the receiver of messages
 */
export function answering(post) {
  const programs = new Map();
  let files = [];
  return (message) => {
    if (message.files) {
      files = message.files;
    } else if (message.module) {
      programs.set(message.name, message.module);
    } else {
      const { id, name, args } = message;
      const onLine = (line) => post({ id, line });
      try {
        const result = name === 'samples' ? samples(id) : run(programs.get(name), args, files, { onLine });
        post({ id, result }, ownBuffers(result, files));
      } catch (error) {
        // A file that cannot be opened, or a trap of WebAssembly: no memory, or a defect.
        const { message, kind = 'crash', file } = error instanceof Error ? error : { message: String(error) };
        post({ id, failure: { kind, message, file } });
      }

      function samples(id) {
        const batches = new BatchReader();
        const postBatch = (batch) => post({ id, batch }, ownBuffers({ files: new Map(Object.entries(batch)) }, []));
        return run(programs.get(name), args, files, { onLine, onOutput: (piece) => batches.add(piece, postBatch) });
      }
    }
  };
}

/** The buffers of a result, without those of inputs, which later runs read. */
function ownBuffers({ stdout, files: outputs }, inputs) {
  const buffers = new Set([stdout, ...outputs.values()].map((bytes) => bytes?.buffer).filter(Boolean));
  inputs.forEach(([, content]) => buffers.delete(content.buffer));
  return [...buffers];
}
