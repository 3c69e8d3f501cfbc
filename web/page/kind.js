// What a dropped file is: a recording, or a file with names for one.

/** Names of files with symbols that are text. */
const MAPS = /^(kallsyms|System\.map.*|perf-\d+\.map|jit-\d+\.dump|vmlinux.*)$/;

/** @param {File} file */
export async function kindOf(file) {
  if (MAPS.test(file.name)) return 'symbols';
  const magic = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const isElf = magic.length === 4 && String.fromCharCode(...magic) === '\x7fELF';
  return isElf || /\.(ko|debug|dwp|dwo)(\.(gz|xz|zst))?$/.test(file.name) ? 'symbols' : 'recording';
}
