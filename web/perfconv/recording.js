import { argumentsOf } from './arguments.js';
import { PerfconvError } from './error.js';
import { Session } from './session.js';

/** Where files beside the recording are: a directory for `--symfs`, without the directories that they were in. */
const OBJECTS = 'objects';

/** The name of the recording in messages, if it has none. */
const UNNAMED = 'perf.data';

/** Names of directories, and what would be read as an option. */
const RESERVED = /^(-.*|tmp|out|objects)$/;

/** Formats that show no functions, by name or by name of a file, and the options with which they are made from object files. */
const OF_RECORDS = /^(perf\.data|quipper|jsonl?)$|\.(data|pb_data|quipper|jsonl|ndjson)(\.(gz|zst))?$|^[^.]+\.json(\.(gz|zst))?$/;
const FROM_OBJECTS = ['buildIds', 'buildidAll', 'decode', 'embedSymbols', 'mmap2Buildids', 'mmap2BuildidAll', 'unwind'];

/** Asks for progress, which is written only if a call takes some time. */
const PROGRESS = ['--progress', 'json'];

/** A recording, or another profile that the program reads. */
export class Recording {
  #session;
  #path;
  #symbols;
  /** What is called in calls that do not have functions of their own. */
  #callbacks;

  /** See {@link open}. */
  constructor(input, { name = input.name ?? decodeURIComponent(input.pathname ?? UNNAMED), files = {}, onProgress, onMessage } = {}) {
    this.#callbacks = { onProgress, onMessage };
    this.name = baseName(name) || UNNAMED;
    // In the root, so that messages have the name alone.
    this.#path = RESERVED.test(this.name) ? UNNAMED : this.name;
    const others = Object.entries(files).map(([path, content]) => [`/${OBJECTS}/${placeOf(path)}`, bytesOf(content)]);
    this.#session = new Session([[this.#path, bytesOf(input)], ...others]);
    this.#symbols = ['--symfs', `/${OBJECTS}`];
    for (const [path] of others) {
      const option = { kallsyms: '--kallsyms', vmlinux: '--vmlinux' }[baseName(path)];
      if (option) this.#symbols.push(option, path);
    }
    if (others.length === 0) this.#symbols = [];
  }

  /** What `perfconv info --json` says. */
  async info(options = {}) {
    const { stdout } = await this.#succeed(['info', '--json', ...argumentsOf(options), this.#path], options);
    return JSON.parse(text(stdout));
  }

  /** What `perfconv report --json` says. */
  async report(options = {}) {
    const args = ['report', '--json', ...this.#symbols, ...argumentsOf(options), this.#path];
    return JSON.parse(text((await this.#succeed(args, options)).stdout));
  }

  /** Converts to a format, by its name or by the name of a file. */
  async convert(format, options = {}) {
    const isFile = format.includes('.') && format !== 'perf.data';
    const output = `/out/${isFile ? baseName(format) : 'output'}`;
    const args = [this.#path, '-o', output, ...(isFile ? [] : ['-t', format])];
    const usesObjects = !OF_RECORDS.test(format) || FROM_OBJECTS.some((name) => options[name]);
    const symbols = usesObjects ? this.#symbols : [];
    const { files } = await this.#succeed([...args, ...symbols, ...argumentsOf(options)], options);
    if (files.size === 1) return [...files.values()][0];
    throw new PerfconvError({ kind: 'invalid_request', message: `${format}: ${files.size} files; use run` });
  }

  /** The problems that `perfconv check --json` finds. */
  async check(options = {}) {
    return lines((await this.#run(['check', '--json', ...argumentsOf(options), this.#path], options, [0, 3])).stdout);
  }

  /** The objects whose functions have no names, and why. */
  async missingSymbols(options = {}) {
    const args = ['check', '--symbols', '--json', ...this.#symbols, ...argumentsOf(options), this.#path];
    return lines((await this.#run(args, options, [0, 3])).stdout)[0];
  }

  /** The samples in time order, in batches of columns. */
  async *samples({ signal } = {}) {
    const stop = new AbortController();
    const [batches, tables] = [[], { events: [], comms: [], mappings: [] }];
    let [wake, result, failure] = [() => {}];
    const run = this.#session.run('samples', [this.#path], {
      signal: AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]),
      onLine: (line) => (failure = parsed(line)),
      onBatch: (batch) => {
        batches.push(batch);
        wake();
      },
    });
    run.then((value) => (result = value), (error) => (result = { error })).then(() => wake());
    try {
      while (batches.length > 0 || !result) {
        if (batches.length === 0) await new Promise((resolve) => (wake = resolve));
        for (const { added, ...columns } of batches.splice(0)) {
          for (const [name, values] of Object.entries(added)) tables[name].push(...values);
          yield { ...columns, ...tables };
        }
      }
    } finally {
      // Of a loop that was left early.
      if (!result) stop.abort();
    }
    if (result.error) throw result.error;
    if (result.status !== 0) throw failureOf(failure, result.status);
  }

  /** Runs the program with arguments; `{}` stands for the path of the recording. */
  run(args, options = {}) {
    return this.#run(args.map((word) => (word === '{}' ? this.#path : word)), options);
  }

  /** Ends the worker; calls that run fail. */
  close() {
    this.#session.close();
  }

  #succeed(args, options) {
    return this.#run(args, options, [0]);
  }

  /** Runs the program. With exit statuses of a success, it reports progress, and other statuses are failures. */
  async #run(args, options, successes) {
    const { signal, onProgress, onMessage } = { ...this.#callbacks, ...options };
    let failure;
    const result = await this.#session.run('perfconv', successes ? [...args, ...PROGRESS] : args, {
      signal,
      onLine: (line) => {
        const value = line.startsWith('{') ? parsed(line) : undefined;
        if (value?.progress) onProgress?.(value.progress);
        else if (value?.kind) failure = withoutNulls(value);
        else if (line) onMessage?.(line);
      },
    });
    if (successes && !successes.includes(result.status)) throw failureOf(failure, result.status);
    return failure ? { ...result, failure } : result;
  }
}

/** Files of processes are below `tmp`, as on the recorded machine. */
function placeOf(path) {
  const name = baseName(path);
  return /^(perf-\d+\.map|jit-\d+\.dump)$/.test(name) && name === path ? `tmp/${name}` : path;
}

function baseName(path) {
  return path.split('/').at(-1);
}

/** A copy is not made: the worker has its own. */
function bytesOf(content) {
  if (content instanceof Blob || content instanceof Uint8Array) return content;
  if (content instanceof URL && content.protocol === 'file:') return content.href;
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
  throw new TypeError('expected bytes, a Blob, or the file: URL of a path (pathToFileURL)');
}

function failureOf(failure, status) {
  return new PerfconvError(failure ?? { kind: 'crash', message: `the program ended with status ${status}` });
}

/** A failure without what is not known. */
function withoutNulls(failure) {
  return Object.fromEntries(Object.entries(failure).filter(([, value]) => value !== null));
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function text(bytes) {
  return new TextDecoder().decode(bytes);
}

function lines(bytes) {
  return text(bytes).split('\n').filter(Boolean).map((line) => JSON.parse(line));
}
