// The example pages open recordings in other profilers.

import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BUILT, fileIn, serve, startBrowser } from './browser.js';
import { REPO } from './common.js';

const WEB = join(REPO, 'web');
const RECORDING = join(REPO, 'roundtrip/fixtures/callgraph.data');

/** Stands for profiler.firefox.com: it takes a profile by the messages of its documentation. */
const PROFILER = `<!doctype html><title>waiting</title><script>
  addEventListener('message', ({ data, source, origin }) => {
    if (data.name === 'ready:request') source.postMessage({ name: 'ready:response' }, origin);
    if (data.name === 'inject-profile') {
      window.profile = data.profile;
      document.title = 'opened';
    }
  });
</script>`;

let [browser, profiler] = [];
before(async () => {
  browser = await startBrowser();
  profiler = await serve(() => PROFILER);
});
after(async () => {
  await browser?.close();
  profiler?.stop();
});

/** Serves an example, whose script is bundled. */
async function example(name) {
  const html = readFileSync(join(WEB, 'examples', name), 'utf8');
  const [script] = html.match(/(?<=<script type="module">)[^]*(?=<\/script>)/);
  const options = { bundle: true, format: 'esm', conditions: ['browser'], write: false };
  const { outputFiles } = await build({ ...options, stdin: { contents: script, resolveDir: WEB } });
  const page = html.replace(script, '').replace('<script type="module">', '<script type="module" src="example.js">');
  return serve((path) => {
    if (path === '/') return page;
    if (path === '/example.js') return outputFiles[0].text;
    return path.startsWith('/speedscope/')
      ? fileIn(join(WEB, 'node_modules/speedscope/dist/release'), path.slice('/speedscope'.length))
      : fileIn(join(BUILT, 'site'), path);
  });
}

test('speedscope shows a recording', async () => {
  const served = await example('speedscope.html');
  const page = await browser.newPage();
  await page.goto(served.address);
  await page.setInputFiles('#file', RECORDING);
  const frame = page.frameLocator('iframe');
  await frame.getByText('Time Order').waitFor();
  await frame.getByText('Sandwich').click();
  await frame.getByText('[loop-pie]').first().waitFor();
  await page.close();
  served.stop();
});

test('the Firefox Profiler takes a recording', async () => {
  const served = await example('firefox.html');
  const page = await browser.newPage();
  await page.addInitScript((address) => (window.PROFILER = address), profiler.address);
  await page.goto(served.address);
  const [opened] = await Promise.all([page.waitForEvent('popup'), page.setInputFiles('#file', RECORDING)]);
  await opened.waitForFunction(() => document.title === 'opened');
  const samples = await opened.evaluate(() => window.profile.threads.reduce((sum, thread) => sum + thread.samples.length, 0));
  assert.equal(samples, 377);
  await page.close();
  served.stop();
});
