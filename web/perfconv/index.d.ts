/**
 * A file. Of a Blob in a browser, and of a `file:` URL in Node.js, only the parts are read that are needed: a recording does not have
 * to fit in memory.
 */
export type Content = Uint8Array | ArrayBuffer | ArrayBufferView | Blob | URL;

/** What all calls take. */
export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal;
  /** Called a few times a second, with how much of a kind of work is done. */
  onProgress?: (progress: Progress) => void;
  /** Called with warnings, and with the summary of what was converted. */
  onMessage?: (line: string) => void;
}

export interface Progress {
  work: 'reading' | 'opening objects' | 'resolving addresses' | 'downloading' | 'finishing';
  name?: string;
  done?: number;
  total?: number | null;
  unit?: 'bytes' | 'objects' | 'addresses';
  per_second?: number | null;
  seconds_left?: number | null;
  elapsed_seconds: number;
  /** Number of kinds of work that have begun. */
  tasks?: number;
}

/** How a recording is opened. Its functions are also called in later calls that have none of their own. */
export interface OpenOptions extends CallOptions {
  /** Name of the recording in messages [default: that of a File, or `perf.data`]. */
  name?: string;
  /**
   * Files with names of functions, by path or by name alone: object files, debug files, `vmlinux`, `kallsyms`, `perf-PID.map`,
   * `jit-PID.dump`. An archive of `perfconv archive` has them already.
   */
  files?: Record<string, Content>;
}

/**
 * Options of the program in camel case: `{ offCpu: true, event: ['cycles', 'faults'] }` stands for `--off-cpu --event=cycles
 * --event=faults`. `perfconv help convert` lists them.
 */
export interface ConvertOptions extends CallOptions {
  /** Names of events to select. */
  event?: string | string[];
  /** Processes to select. */
  pid?: number | number[];
  /** Threads to select. */
  tid?: number | number[];
  /** Names of threads to select. */
  comm?: string | string[];
  /** A range of time, such as `10%-20%`. */
  time?: string;
  /** Which object files and stored names to take functions from. */
  symbols?: 'auto' | 'embedded' | 'objects' | 'no' | 'force';
  /** What values of samples are: `latency`, or a field. */
  weight?: string;
  /** Time off the CPU instead of samples on it. */
  offCpu?: boolean;
  /** Whether addresses without a mapping are kept. */
  unmapped?: 'merge' | 'keep';
  [option: string]: unknown;
}

/** Formats by their names. */
export type Format =
  | 'pprof' | 'html' | 'flamegraph' | 'firefox' | 'speedscope' | 'folded' | 'report' | 'markdown' | 'perf-script' | 'json'
  | 'jsonl' | 'perf-json' | 'perfetto' | 'chrome' | 'callgrind' | 'otlp' | 'otlp-json' | 'quipper' | 'perf.data' | 'llvm'
  | 'gcc' | 'bolt' | 'profgen' | 'autofdo';

/** Samples, and the sum of their values: periods, or what `weight` asks for. */
export interface Counts {
  samples: number;
  value: number;
}

/** The functions with the most samples, those with the most in total first. */
export interface Report {
  entries: {
    event: string;
    comm?: string;
    dso?: string;
    sym?: string;
    /** Samples in the function itself, and with what it calls. */
    self: Counts;
    total: Counts;
    /** Further keys of `sort`. */
    [key: string]: unknown;
  }[];
  events: ({ event: string } & Counts)[];
  facts: Record<string, string>;
  warnings: string[];
  /** What other contents have, such as `tree`. */
  [part: string]: unknown;
}

/** Numbers of frames: the innermost of their stacks, and all. */
export interface FrameCounts {
  all: number;
  innermost: number;
}

/** A finding of `check`. */
export interface Finding {
  [field: string]: unknown;
}

/** Objects whose functions have no names. */
export interface MissingSymbols {
  file: string;
  /** Number of samples, and of those whose innermost frame has no function. */
  samples: number;
  without_function_names: number;
  frames: FrameCounts;
  frames_without_function_names: FrameCounts;
  objects: { name: string; build_id?: string; reason: string; frames: number; innermost_frames: number }[];
}

/** A mapped file, or the kernel. Numbers are hexadecimal, as they may have 64 bits. */
export interface Mapping {
  path: string;
  start: string;
  end: string;
  offset: string;
  buildId?: string;
}

/** Columns of samples, with an element per sample unless something else is said. */
export interface SampleBatch {
  length: number;
  /** Nanoseconds of perf's clock; all bits are set if it was not recorded. */
  time: BigUint64Array;
  period: BigUint64Array;
  /** Index in `events`. */
  event: Uint32Array;
  /** All bits are set in these if they were not recorded. */
  pid: Uint32Array;
  tid: Uint32Array;
  cpu: Uint32Array;
  /** Index in `comms`; all bits are set if the name of the thread is not known. */
  comm: Uint32Array;
  /** Where the stack of each sample ends in `address`; it begins where that of the sample before ends. */
  stackEnd: Uint32Array;
  /** Addresses of all stacks, innermost first. */
  address: BigUint64Array;
  /** Index in `mappings` of each address; all bits are set if no mapping has it. */
  mapping: Uint32Array;
  /** What the indices refer to; these grow from batch to batch. */
  events: string[];
  comms: string[];
  mappings: Mapping[];
}

/** What a run of the program left behind. */
export interface RunResult {
  status: number;
  stdout: Uint8Array;
  /** Files in the directory `/out`. */
  files: Map<string, Uint8Array>;
  failure?: Failure;
}

export interface Failure {
  kind:
    | 'io' | 'input' | 'output' | 'output_exists' | 'not_found' | 'incompatible' | 'invalid_request' | 'too_large' | 'arguments'
    | 'closed' | 'crash';
  message: string;
  file?: string;
  /** Offset in the file, in bytes. */
  offset?: number;
  record?: { index: number; type: string };
}

/** Why a call failed. */
export class PerfconvError extends Error implements Failure {
  kind: Failure['kind'];
  file?: string;
  offset?: number;
  record?: { index: number; type: string };
}

/** A recording, or another profile that perfconv reads. Its calls run one after the other in a worker of its own. */
export class Recording {
  private constructor();
  readonly name: string;
  /** What `perfconv info --json` says. */
  info(options?: CallOptions & Record<string, unknown>): Promise<Record<string, unknown>>;
  /** What `perfconv report --json` says: functions with their samples. */
  report(options?: ConvertOptions): Promise<Report>;
  /** Converts to a format, by its name or by the name of a file, such as `profile.pb.gz`. */
  convert(format: Format | `${string}.${string}`, options?: ConvertOptions): Promise<Uint8Array>;
  /** The samples in time order. */
  samples(options?: { signal?: AbortSignal }): AsyncGenerator<SampleBatch, void>;
  /** The problems that `perfconv check` finds. */
  check(options?: CallOptions & Record<string, unknown>): Promise<Finding[]>;
  /** The objects whose functions have no names, and why. */
  missingSymbols(options?: CallOptions & Record<string, unknown>): Promise<MissingSymbols>;
  /** Runs the program with any arguments; `{}` stands for the path of the recording, and outputs are read from `/out`. */
  run(args: string[], options?: CallOptions): Promise<RunResult>;
  /** Ends the worker. */
  close(): void;
}

/** Opens a recording, an archive of one, or another profile that perfconv reads. */
export function open(input: Content, options?: OpenOptions): Promise<Recording>;

/**
 * Converts a generated recording, so that the program is compiled and optimized before the first recording is opened. That takes about a
 * second in a worker; call it when a page is loaded.
 */
export function warmUp(format: Format, options?: { signal?: AbortSignal }): Promise<void>;

/** Replaces where the programs (`perfconv`, and `samples` for the calls of that name) and their worker come from. */
export function configure(changes: {
  compile?: (program: 'perfconv' | 'samples') => Promise<object>;
  startWorker?: () => object;
}): void;
