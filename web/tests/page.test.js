// The page in a browser: files are dropped on it, and the profile is shown.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BUILT, fileIn, serve, startBrowser } from './browser.js';
import { generatedRecording } from '../perfconv/generated.js';
import { native, PERFCONV, REPO, withDirectory } from './common.js';

let [browser, site] = [];
before(async () => {
  browser = await startBrowser();
  site = await serve((path) => fileIn(join(BUILT, 'site'), path));
});
after(async () => {
  await browser?.close();
  site?.stop();
});

/** Opens the page, and fails at the end if its policy was violated or a request left the machine. */
async function withPage(url, use) {
  const page = await browser.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(site.address) && !/^(file|blob|data):/.test(request.url())) problems.push(request.url());
  });
  await page.goto(url);
  await use(page);
  assert.deepEqual(problems, []);
  await page.close();
}

/** Drops files on the page, as a person does. */
async function drop(page, paths) {
  const files = paths.map((path) => ({ name: path.split('/').at(-1), bytes: readFileSync(path).toString('base64') }));
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const { name, bytes } of files) {
      transfer.items.add(new File([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], name));
    }
    return transfer;
  }, files);
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}

const profile = (page) => page.frameLocator('#profile iframe');

/** Waits until the list of functions has one of this name. */
async function hasFunction(page, name) {
  await profile(page).getByText('Functions', { exact: true }).click();
  await profile(page).getByText(name).first().waitFor();
}

const SYMBOLS = join(REPO, 'roundtrip/symbols');
const PAGES = [['site', () => site.address], ['single file', () => pathToFileURL(join(BUILT, 'perfconv.html')).href]];

for (const [name, url] of PAGES) {
  test(`${name}: recording and program`, async () => {
    await withPage(url(), async (page) => {
      await drop(page, [join(SYMBOLS, 'words.data'), join(SYMBOLS, 'files/opt/words/bin/words')]);
      await hasFunction(page, 'count_words');
      await page.getByRole('tab', { name: 'Names' }).click();
      await page.getByText('All samples have the names').waitFor();
      await page.getByRole('tab', { name: 'Save as' }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('folded stacks').click()]);
      assert.match(readFileSync(await download.path(), 'utf8'), /words;.*count_words/);
      await page.getByRole('tab', { name: 'Info' }).click();
      await page.getByText('"container": "file"').waitFor();
    });
  });
}

test('missing names are asked for, and taken', async () => {
  await withPage(site.address, async (page) => {
    await drop(page, [join(SYMBOLS, 'words.data')]);
    await profile(page).locator('body').waitFor();
    await page.getByRole('tab', { name: 'Names' }).click();
    await page.getByText('8d8661e499d82bfc71322ca168bfdf905ff2072e').waitFor();
    await page.setInputFiles('#input', join(SYMBOLS, 'files/opt/words/bin/words'));
    await hasFunction(page, 'count_words');
  });
});

test('a compressed pipe, and stacks unwound with an archive', async () => {
  await withDirectory(async (directory) => {
    const pipe = join(directory, 'pipe.data.zst');
    execFileSync(PERFCONV, ['rewrite', join(SYMBOLS, 'c.data'), '-o', pipe, '--container', 'pipe', '-q']);
    const archive = join(directory, 'witness.tar.zst');
    execFileSync(PERFCONV, ['archive', join(SYMBOLS, 'witness-gcc.data'), '-o', archive, '--symfs', join(SYMBOLS, 'files'), '-q']);
    await withPage(site.address, async (page) => {
      await drop(page, [pipe]);
      await profile(page).locator('body').waitFor();
      await drop(page, [archive]);
      await hasFunction(page, 'aligned');
    });
  });
});

test('a recording of 160 MB', async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, 'large.data');
    writeFileSync(path, generatedRecording(700_000));
    assert(statSync(path).size > 150e6);
    await withPage(site.address, async (page) => {
      const start = performance.now();
      await page.setInputFiles('#input', path);
      await profile(page).getByText('Functions', { exact: true }).waitFor({ timeout: 120_000 });
      console.log(`the picture of ${statSync(path).size} bytes after ${Math.round(performance.now() - start)} ms`);
      await page.getByRole('tab', { name: 'Save as' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download', { timeout: 120_000 }),
        page.getByText('folded stacks').click(),
      ]);
      const expected = native([path, '-t', 'folded', '-o', '-', '-q'], directory);
      assert(expected.length > 1000 && expected.equals(readFileSync(await download.path())));
    });
  });
});

test('what cannot be read is said, and the page goes on', async () => {
  await withPage(site.address, async (page) => {
    await drop(page, [join(REPO, 'Cargo.toml')]);
    await page.getByRole('alert').getByText('Cargo.toml: ').waitFor();
    await withDirectory(async (directory) => {
      const damaged = join(directory, 'damaged.data');
      const bytes = readFileSync(join(SYMBOLS, 'words.data'));
      writeFileSync(damaged, bytes.subarray(0, bytes.length / 2));
      await drop(page, [damaged]);
      await profile(page).locator('body').waitFor();
    });
    await drop(page, [join(SYMBOLS, 'words.data'), join(SYMBOLS, 'c.data')]);
    await page.getByRole('alert').getByText('2 recordings').waitFor();
  });
});
