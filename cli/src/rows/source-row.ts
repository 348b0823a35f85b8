/** A row of a source: what it has in each of its columns. */
export type SourceRow = Readonly<Record<string, unknown>>;

/** A place in a source where a row should be, and what is there instead. */
export class BadRow {
  readonly reason: string;
  readonly text: string;

  constructor(reason: string, text: string) {
    this.reason = reason;
    this.text = text;
  }
}

/** A source that can be read, row by row, once. */
export interface RowSource {
  /** Names of its columns, where they are known before the rows are. */
  readonly columns: readonly string[] | undefined;
  readonly rows: AsyncIterable<SourceRow | BadRow>;
  /** How much of it has been read, from 0 to 1; `undefined` where its size is not known. */
  readonly fraction: () => number | undefined;
  /** Gives back what reading it took. May be called twice. */
  readonly close: () => Promise<void>;
}

/** The source can't be read: it is damaged, or not what it is said to be. */
export class SourceError extends Error {}

/** Text of one row, at most: what has no end would fill the memory. */
export const rowLimit = 67_108_864;
