// A browser, and a server for its pages.

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { REPO } from './common.js';

/** What `web/build.sh` writes by default. */
export const BUILT = process.env.PERFCONV_WEB ?? join(REPO, 'target/web');

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

export const startBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/**
 * Serves files on this machine.
 * @param {(path: string) => string | Uint8Array | undefined} find the content of a path, or undefined
 */
export async function serve(find) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const content = find(pathname);
    if (content === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'text/html' }).end(content);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

/** The file of a directory at a path of a URL, if there is one. */
export function fileIn(directory, path) {
  try {
    return readFileSync(join(directory, path.endsWith('/') ? `${path}index.html` : path));
  } catch {
    return undefined;
  }
}
