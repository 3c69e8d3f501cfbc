/** Why a call failed. */
export class PerfconvError extends Error {
  /** @param {{ kind: string, message: string, file?: string, offset?: number, record?: { index: number, type: string } }} failure */
  constructor({ kind, message, file, offset, record }) {
    super(message);
    this.name = 'PerfconvError';
    this.kind = kind;
    this.file = file ?? undefined;
    this.offset = offset ?? undefined;
    this.record = record ?? undefined;
  }
}
