import { ResponseTooLarge } from "./source-client.ts";

/** Rows of a list from an offset. */
export interface OffsetPage<Row> {
  readonly rows: readonly Row[];
  /** The offset after these rows. */
  readonly nextOffset: number;
  readonly isLast: boolean;
}

/**
 * Reads a page of a list that is addressed by offset. If the response is too large, half of the rows are requested. Sizes
 * are powers of two that divide the offset, so that a server that numbers its pages can be asked for them, too.
 *
 * @param maxRows the size of a page, a power of two.
 */
export async function readOffsetPage<Row>(
  offset: number,
  maxRows: number,
  read: (page: { readonly offset: number; readonly limit: number }) => Promise<readonly Row[]>,
): Promise<OffsetPage<Row>> {
  let limit = maxRows;
  while (offset % limit !== 0) {
    limit /= 2;
  }
  for (; ; limit /= 2) {
    try {
      const rows = await read({ offset, limit });
      return { rows, nextOffset: offset + limit, isLast: rows.length < limit };
    } catch (error) {
      if (!(error instanceof ResponseTooLarge) || limit === 1) {
        throw error;
      }
    }
  }
}

/** Reads all rows of a list. */
export async function* readAllByOffset<Row>(
  maxRows: number,
  read: (page: { readonly offset: number; readonly limit: number }) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let offset = 0; ;) {
    const { rows, nextOffset, isLast } = await readOffsetPage(offset, maxRows, read);
    yield* rows;
    if (isLast) {
      return;
    }
    offset = nextOffset;
  }
}
