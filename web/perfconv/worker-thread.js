// The worker of Node.js.

import { parentPort } from 'node:worker_threads';
import { answering } from './work.js';

parentPort.on('message', answering((message, transferred) => parentPort.postMessage(message, transferred)));
