// Bundles the page: a static site, and a single file that works without a server. `node bundle.js DESTINATION`

import { build } from 'esbuild';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const destination = process.argv[2];
const site = join(destination, 'site');
await mkdir(site, { recursive: true });

// Pages that perfconv writes have scripts and styles in the document, and inherit the policy. Nothing is loaded from elsewhere, and
// nothing is sent.
const COMMON = "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data: blob:; frame-src blob:; base-uri 'none'; form-action 'none'";
const SITE = `${COMMON}; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'`;
const FILE = `${COMMON}; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; connect-src 'none'`;

const bundled = { bundle: true, minify: true, legalComments: 'inline', conditions: ['browser'], logLevel: 'warning' };

const html = await readFile('page/index.html', 'utf8');
await build({ ...bundled, format: 'esm', entryPoints: { page: 'page/page.js', worker: 'perfconv/worker.js' }, outdir: site });
await writeFile(join(site, 'index.html'), html.replace('POLICY', SITE));
await copyFile('page/page.css', join(site, 'page.css'));
for (const name of ['perfconv.wasm', 'samples.wasm']) await copyFile(`perfconv/${name}`, join(site, name));

// The single file: the worker is text, and the program is compressed.
const inMemory = async (entry) => {
  // Addresses beside a module are not used: the single file has them replaced.
  const logOverride = { 'empty-import-meta': 'silent' };
  const { outputFiles } = await build({ ...bundled, format: 'iife', entryPoints: [entry], write: false, logOverride });
  return outputFiles[0].text.replaceAll('</script', '<\\/script');
};
const [page, worker] = [await inMemory('page/single.js'), await inMemory('perfconv/worker.js')];
const program = gzipSync(await readFile('perfconv/perfconv.wasm'), { level: 9 }).toString('base64');
const css = await readFile('page/page.css', 'utf8');
const parts = [
  `<script type="text/plain" id="worker">${worker}</script>`,
  `<script type="text/plain" id="program">${program}</script>`,
  `<script>${page}</script>`,
];
const single = html
  .replace('POLICY', FILE)
  .replace('<link rel="stylesheet" href="page.css">', () => `<style>${css}</style>`)
  .replace('<script type="module" src="page.js"></script>', () => parts.join('\n'));
await writeFile(join(destination, 'perfconv.html'), single);
