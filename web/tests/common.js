// What tests of the package share.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const REPO = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** The program of this platform, whose outputs are compared. */
export const PERFCONV = process.env.PERFCONV ?? join(REPO, 'target/debug/perfconv');

/** Runs the program of this platform in a directory; its standard output, or the status of a failure. */
export function native(args, cwd) {
  try {
    return execFileSync(PERFCONV, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 30 });
  } catch ({ status }) {
    return status;
  }
}

/** Calls a function with a directory that is removed after it. */
export async function withDirectory(use) {
  const directory = mkdtempSync(join(tmpdir(), 'perfconv-'));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The recordings of the repository and, where it is, a part of the corpus; with PERFCONV_TEST_ALL=1, all of it. */
export function recordings() {
  const isRecording = (path) => /^(PERFILE2|2ELIFREP)$/.test(readFileSync(path).toString('latin1', 0, 8));
  const below = (directory) => filesBelow(join(REPO, directory)).filter(isRecording);
  const corpus = below('../shared/corpus').filter((_, index) => process.env.PERFCONV_TEST_ALL === '1' || index % 20 === 0);
  return [...below('roundtrip/fixtures'), ...below('roundtrip/symbols'), ...corpus];
}

/** The files below a directory, sorted; none if there is no such directory. */
export function filesBelow(directory) {
  try {
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
  } catch {
    return [];
  }
}
