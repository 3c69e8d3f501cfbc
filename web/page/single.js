// The page in a single file, which has the program and its worker in itself.

import { configure } from 'perfconv';
import './page.js';

const text = (id) => document.getElementById(id).textContent;

const worker = URL.createObjectURL(new Blob([text('worker')], { type: 'text/javascript' }));

configure({
  async compile() {
    const packed = Uint8Array.from(atob(text('program')), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  },
  startWorker: () => new Worker(worker),
});
