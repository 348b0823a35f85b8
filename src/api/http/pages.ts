import { ResponseError, ValidationError } from "../../model/errors.ts";

/**
 * A list that is fetched page by page as it is consumed. Each `for await` begins anew; leaving one
 * fetches no further page.
 */
export class Pages<Item> implements AsyncIterable<Item> {
  readonly #open: () => AsyncGenerator<readonly Item[], void>;

  /** @internal */
  constructor(open: () => AsyncGenerator<readonly Item[], void>) {
    this.#open = open;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const page of this.#open()) {
      yield* page;
    }
  }

  /** Everything, in one array. */
  async toArray(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) {
      items.push(item);
    }
    return items;
  }
}

/** Most that one page holds: what servers take. */
const pageLimit = 100;

export interface OffsetRequest {
  readonly limit: number;
  readonly offset: number;
}

/** A list by `limit` and `offset`, or behind the last item that came: ends at `limit` items, or at a page that is shorter than asked for. */
export const pagesByOffset = <Item>(
  limit: number | undefined,
  fetchPage: (request: OffsetRequest, last: Item | undefined) => Promise<readonly Item[]>,
): Pages<Item> => {
  const wanted = assertLimit(limit);
  return new Pages(async function* pages() {
    let offset = 0;
    let last: Item | undefined;
    while (offset < wanted) {
      const size = Math.min(pageLimit, wanted - offset);
      const page = await fetchPage({ limit: size, offset }, last);
      yield page.slice(0, size);
      if (page.length < size) {
        return;
      }
      offset += size;
      last = page.at(-1);
    }
  });
};

/** Ids of one request: more make its address too long. */
const idsPerRequest = 100;

/**
 * Items that a list leaves out at its beginning.
 *
 * @throws {@link ValidationError} it is not a whole number of at least 0, or the list is of more ids
 * than one request asks for.
 */
export function checkOffset(offset: number = 0, ids: readonly string[] = []): number {
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new ValidationError(`offset must be a whole number of at least 0, not ${offset}`);
  }
  if (offset > 0 && ids.length > idsPerRequest) {
    throw new ValidationError(`offset can't be given with more than ${idsPerRequest} ids`);
  }
  return offset;
}

/** Parts of at most `size`: as many ids as fit into one address. */
export const chunksOf = <Item>(items: readonly Item[], size = idsPerRequest): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );

/** The ids of each request, where one can't hold them all; each id once. `undefined`: of whatever id. */
export const idsByRequest = (
  ids: readonly string[] | undefined,
): readonly (readonly string[] | undefined)[] =>
  ids === undefined ? [undefined] : chunksOf([...new Set(ids)]);

/**
 * Lists the items with one of these ids, in several requests where one can't hold all ids, up to `limit` items in
 * total. Without ids nothing is requested: a query without ids would not filter at all.
 */
export const pagesByIds = <Item>(
  ids: readonly string[] | undefined,
  limit: number | undefined,
  list: (ids: readonly string[] | undefined, limit: number | undefined) => Pages<Item>,
): Pages<Item> => {
  const wanted = assertLimit(limit);
  const parts = idsByRequest(ids);
  return new Pages(async function* pages() {
    let left = wanted;
    for (const part of parts) {
      if (left === 0) {
        return;
      }
      for await (const item of list(part, Number.isFinite(left) ? left : undefined)) {
        left -= 1;
        yield [item];
      }
    }
  });
};

export interface CursorRequest {
  readonly limit: number;
  readonly cursor?: string;
}

export interface CursorPage<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly next?: string | undefined;
}

/** A list by cursor: ends at `limit` items, or at a page that names no next one. */
export const pagesByCursor = <Item>(
  limit: number | undefined,
  fetchPage: (request: CursorRequest) => Promise<CursorPage<Item>>,
): Pages<Item> => {
  const wanted = assertLimit(limit);
  return new Pages(async function* pages() {
    let left = wanted;
    let cursor: string | undefined;
    while (left > 0) {
      const size = Math.min(pageLimit, left);
      const page: CursorPage<Item> = await fetchPage({
        limit: size,
        ...(cursor === undefined ? {} : { cursor }),
      });
      yield page.items.slice(0, size);
      left -= page.items.length;
      if (page.next === undefined) {
        return;
      }
      if (page.next === cursor) {
        throw new ResponseError(
          'Failed to list: the server answers the same page again and again. Give a limit of one page, and check the version of the server with "npx millrace doctor"',
        );
      }
      cursor = page.next;
    }
  });
};

/**
 * Items of a list at most; no limit where it is left out.
 *
 * @throws {@link ValidationError} it is not a whole number of at least 1.
 */
function assertLimit(limit: unknown): number {
  if (limit === undefined) {
    return Number.POSITIVE_INFINITY;
  }
  if (typeof limit !== "number" || !Number.isSafeInteger(limit) || limit < 1) {
    const shown = typeof limit === "number" ? String(limit) : `a value of type ${typeof limit}`;
    throw new ValidationError(`limit must be a whole number of at least 1, not ${shown}`);
  }
  return limit;
}
