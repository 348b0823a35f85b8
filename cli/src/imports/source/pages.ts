import { ResponseTooLarge } from "./source-client.ts";

/** Rows of a list, and the cursor with which the next page is read. It is `undefined` after the last page. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

/** The part of a list that one request reads. */
export type PageRange = Readonly<Record<"offset" | "limit", number>>;

/** Number of rows that are requested at once. A page can become one upload request, and must not take much memory. */
export const pageRows = 64;

/**
 * Reads a page with fewer and fewer rows, down to one, until the response is not too large.
 *
 * @param divisor - the number of rows is divided by this after each response that is too large.
 * @throws {@link ResponseTooLarge} if a single row is too large.
 */
export async function readUntilItFits<Result>(
  { maxRows, divisor = 4 }: { readonly maxRows: number; readonly divisor?: number },
  read: (limit: number) => Promise<Result>,
): Promise<Result> {
  for (let limit = maxRows; ; limit = Math.max(1, Math.floor(limit / divisor))) {
    try {
      return await read(limit);
    } catch (error) {
      if (!(error instanceof ResponseTooLarge) || limit === 1) {
        throw error;
      }
    }
  }
}

/**
 * Reads a page of a list whose requests contain an offset. The cursor is the offset as text. The size of a page is
 * always a power of two that divides the offset: some servers take a page number instead, which is then a whole number.
 *
 * @param maxRows - the largest size of a page, a power of two.
 */
export async function readOffsetPage<Row>(
  cursor: string | undefined,
  read: (range: PageRange) => Promise<readonly Row[]>,
  maxRows: number = pageRows,
): Promise<Page<Row>> {
  const offset = Number(cursor ?? 0);
  let alignedRows = maxRows;
  while (offset % alignedRows !== 0) {
    alignedRows /= 2;
  }
  return readUntilItFits({ maxRows: alignedRows, divisor: 2 }, async (limit) => {
    const rows = await read({ offset, limit });
    return { rows, next: rows.length < limit ? undefined : String(offset + limit) };
  });
}

/** Reads all rows of a list. */
export async function* readAllByOffset<Row>(
  read: (range: PageRange) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let cursor: string | undefined;
  do {
    const { rows, next } = await readOffsetPage(cursor, read);
    yield* rows;
    cursor = next;
  } while (cursor !== undefined);
}
