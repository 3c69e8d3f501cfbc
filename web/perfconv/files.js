// Files in memory, as the program sees them.

import { Directory, Fd, File, Inode, wasi } from '@bjorn3/browser_wasi_shim';
import { sourceOf } from '#source';

/** How much of a file outside the memory is read at once, in bytes. */
const PART = 4 << 20;

/** A file that grows by doubling: the program writes in small pieces. */
export class MemoryFile extends File {
  #length;

  /** @param {Uint8Array} bytes used as they are: a file that is written to is copied first */
  constructor(bytes) {
    super(new Uint8Array());
    this.data = bytes;
    this.#length = bytes.length;
    this.isOwn = false;
    this.modified = Date.now();
  }

  get bytes() {
    return this.data.subarray(0, this.#length);
  }

  get size() {
    return BigInt(this.#length);
  }

  stat() {
    return stat(this, this.modified);
  }

  path_open(oflags, _rights, flags) {
    if (oflags & wasi.OFLAGS_TRUNC) this.resize(0);
    return { ret: wasi.ERRNO_SUCCESS, fd_obj: new OpenBytes(this, flags & wasi.FDFLAGS_APPEND) };
  }

  resize(length) {
    if (length > this.data.length || !this.isOwn) {
      const grown = new Uint8Array(Math.max(length, Math.min(this.#length * 2, this.#length + (256 << 20)), 1024));
      grown.set(this.data.subarray(0, Math.min(this.#length, length)));
      this.data = grown;
      this.isOwn = true;
    }
    if (length > this.#length) this.data.fill(0, this.#length, length);
    this.#length = length;
  }

  read(offset, size) {
    return this.data.subarray(Math.min(offset, this.#length), Math.min(offset + size, this.#length));
  }

  write(offset, data) {
    if (offset + data.length > this.#length || !this.isOwn) {
      this.resize(Math.max(offset + data.length, this.#length));
    }
    this.data.set(data, offset);
  }
}

/** A file outside the memory, of which only the parts are read that the program asks for. It reads in small pieces. */
export class SourceFile extends Inode {
  #source;
  #part = new Uint8Array();
  #start = 0;

  /** @param {{ size: number, modified: number, read: (start: number, end: number) => Uint8Array }} source */
  constructor(source) {
    super();
    this.#source = source;
  }

  get size() {
    return BigInt(this.#source.size);
  }

  stat() {
    return stat(this, this.#source.modified);
  }

  path_open(oflags, rights) {
    if (oflags & wasi.OFLAGS_TRUNC || BigInt(rights) & BigInt(wasi.RIGHTS_FD_WRITE)) {
      return { ret: wasi.ERRNO_PERM, fd_obj: null };
    }
    return { ret: wasi.ERRNO_SUCCESS, fd_obj: new OpenBytes(this) };
  }

  read(offset, size) {
    if (offset < this.#start || offset >= this.#start + this.#part.length) {
      const end = Math.min(offset + PART, this.#source.size);
      this.#part = offset < end ? this.#source.read(offset, end) : new Uint8Array();
      this.#start = offset;
    }
    const at = offset - this.#start;
    return this.#part.subarray(at, at + size);
  }
}

/** The state of a file; `modified` is in milliseconds. */
function stat(file, modified = Date.now()) {
  const state = new wasi.Filestat(file.ino, wasi.FILETYPE_REGULAR_FILE, file.size);
  state.mtim = BigInt(modified) * 1_000_000n;
  return state;
}

/** An open file of one of these kinds. */
class OpenBytes extends Fd {
  constructor(file, appends) {
    super();
    this.file = file;
    this.position = 0;
    this.appends = appends;
  }

  fd_fdstat_get() {
    return { ret: 0, fdstat: new wasi.Fdstat(wasi.FILETYPE_REGULAR_FILE, 0) };
  }

  fd_filestat_get() {
    return { ret: 0, filestat: this.file.stat() };
  }

  fd_filestat_set_size(size) {
    if (!this.file.resize) return wasi.ERRNO_BADF;
    this.file.resize(Number(size));
    return wasi.ERRNO_SUCCESS;
  }

  fd_read(size) {
    const data = this.file.read(this.position, size);
    this.position += data.length;
    return { ret: 0, data };
  }

  fd_pread(size, offset) {
    return { ret: 0, data: this.file.read(Number(offset), size) };
  }

  fd_seek(offset, whence) {
    const from = { [wasi.WHENCE_SET]: 0, [wasi.WHENCE_CUR]: this.position, [wasi.WHENCE_END]: Number(this.file.size) }[whence];
    const position = from + Number(offset);
    if (!(position >= 0)) return { ret: wasi.ERRNO_INVAL, offset: 0n };
    this.position = position;
    return { ret: 0, offset: BigInt(position) };
  }

  fd_tell() {
    return { ret: 0, offset: BigInt(this.position) };
  }

  fd_write(data) {
    if (!this.file.write) return { ret: wasi.ERRNO_BADF, nwritten: 0 };
    if (this.appends) this.position = Number(this.file.size);
    this.file.write(this.position, data);
    this.position += data.length;
    return { ret: 0, nwritten: data.length };
  }

  fd_pwrite(data, offset) {
    if (!this.file.write) return { ret: wasi.ERRNO_BADF, nwritten: 0 };
    this.file.write(Number(offset), data);
    return { ret: 0, nwritten: data.length };
  }

  fd_sync() {
    return wasi.ERRNO_SUCCESS;
  }
}

/** A directory whose new files are of the kinds above. */
export class MemoryDirectory extends Directory {
  create_entry_for_path(path, isDirectory) {
    const created = super.create_entry_for_path(path, isDirectory);
    if (!created.entry) return created;
    const entry = isDirectory ? new MemoryDirectory(new Map()) : new MemoryFile(new Uint8Array());
    const names = path.split('/').filter((name) => name && name !== '.');
    const parent = names.slice(0, -1).reduce((directory, name) => directory.contents.get(name), this);
    if (isDirectory) entry.parent = parent;
    parent.contents.set(names.at(-1), entry);
    return { ...created, entry };
  }
}

/**
 * The root directory with these files.
 * @param {Iterable<[string, Uint8Array | Blob | string]>} files paths and contents
 */
export function rootOf(files) {
  const root = new MemoryDirectory(new Map());
  for (const name of ['tmp', 'out']) root.contents.set(name, new MemoryDirectory(new Map()));
  for (const [path, content] of files) {
    const names = path.split('/').filter((name) => name && name !== '.' && name !== '..');
    const last = names.pop();
    if (last === undefined) continue;
    let directory = root;
    for (const name of names) {
      let next = directory.contents.get(name);
      if (!(next instanceof MemoryDirectory)) {
        next = new MemoryDirectory(new Map());
        next.parent = directory;
        directory.contents.set(name, next);
      }
      directory = next;
    }
    directory.contents.set(last, content instanceof Uint8Array ? new MemoryFile(content) : new SourceFile(sourceOf(content)));
  }
  return root;
}

/** Paths and contents of the files below a directory, as `[path, content]`. */
export function* filesBelow(directory, prefix = '') {
  for (const [name, entry] of directory.contents) {
    if (entry instanceof MemoryDirectory) yield* filesBelow(entry, `${prefix}${name}/`);
    else if (entry instanceof MemoryFile) yield [prefix + name, entry.bytes];
  }
}
