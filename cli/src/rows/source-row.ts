/** A row of a source: its values by column. */
export type SourceRow = Readonly<Record<string, unknown>>;

/** A row that could not be parsed, with the reason and the row's text. */
export class BadRow {
  readonly reason: string;
  readonly text: string;

  constructor(reason: string, text: string) {
    this.reason = reason;
    this.text = text;
  }
}

/** A source of rows that can be iterated once. */
export interface RowSource {
  /** Names of the columns, if they are known before the rows are read. */
  readonly columns: readonly string[] | undefined;
  readonly rows: AsyncIterable<SourceRow | BadRow>;
  /** For the user: which values of the rows that were read so far could not be read exactly. */
  readonly warnings?: readonly string[];
  /** Returns the fraction of the source that has been read, from 0 to 1, or `undefined` if its size is unknown. */
  readonly getFractionRead: () => number | undefined;
  /** Releases the source's resources. May be called twice. */
  readonly close: () => Promise<void>;
}

/** The source can't be read: it is damaged, or it is not in the expected format. */
export class SourceError extends Error {}

/**
 * Maximum length of the text of one row, in bytes or characters. Without this limit, a row that never ends would
 * exhaust memory.
 */
export const maxRowLength = 67_108_864;
