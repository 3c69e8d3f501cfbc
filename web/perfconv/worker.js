// The worker of browsers.

import { answering } from './work.js';

const receive = answering((message, transferred) => self.postMessage(message, transferred));
self.onmessage = ({ data }) => receive(data);
