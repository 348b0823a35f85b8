import { ResponseError, ValidationError } from "../../model/errors.ts";

/**
 * A list that is fetched page by page as it is consumed. Each `for await` starts again at the first page; after the
 * loop is left, no further page is fetched.
 *
 * Most lists continue at the number of items that they have fetched. A loop that deletes its items, or changes them so
 * that they leave the list or move in it, therefore skips later ones: fetch the whole list with {@link Pages.toArray}
 * first. Lists of runs, and lists of examples with `order: "written"`, continue after the last item instead.
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

  /** Fetches all pages and returns their items in one array. */
  async toArray(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) {
      items.push(item);
    }
    return items;
  }
}

/** Maximum number of items per page: servers accept no larger `limit`. */
const maxPageItems = 100;

/** The page that an endpoint with `limit` and `offset` is queried for. */
export interface OffsetRequest {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Lists by `limit` and `offset`. `fetchPage` also receives the last item of the previous page, for endpoints
 * that continue after an item. The list ends at `limit` items, or at a page that is shorter than requested.
 */
export const listByOffset = <Item>(
  limit: number | undefined,
  fetchPage: (request: OffsetRequest, lastItem: Item | undefined) => Promise<readonly Item[]>,
): Pages<Item> => {
  const maxItems = assertLimit(limit);
  return new Pages(async function* pages() {
    let offset = 0;
    let lastItem: Item | undefined;
    while (offset < maxItems) {
      const pageSize = Math.min(maxPageItems, maxItems - offset);
      const page = await fetchPage({ limit: pageSize, offset }, lastItem);
      yield page.slice(0, pageSize);
      if (page.length < pageSize) {
        return;
      }
      offset += pageSize;
      lastItem = page.at(-1);
    }
  });
};

/** Maximum number of ids per request: with more, the URL would become too long. */
const idsPerRequest = 100;

/**
 * Validates and returns the number of items to skip at the beginning of a list.
 *
 * @throws {@link ValidationError} if `offset` is not a whole number of at least 0, or is more than 0 although the ids
 * don't fit into one request.
 */
export function checkOffset(offset: number = 0, ids: readonly string[] = []): number {
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new ValidationError(`offset must be a whole number of at least 0, not ${offset}`);
  }
  if (offset > 0 && ids.length > idsPerRequest) {
    throw new ValidationError(`offset can't be combined with more than ${idsPerRequest} ids`);
  }
  return offset;
}

/** Splits a list into chunks of at most `size` items; by default as many ids as fit into one request. */
export const splitIntoChunks = <Item>(
  items: readonly Item[],
  pageSize = idsPerRequest,
): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / pageSize) }, (_, n) =>
    items.slice(n * pageSize, (n + 1) * pageSize),
  );

/**
 * Splits ids, without duplicates, into groups that each fit into one request. If `ids` is `undefined`, returns
 * `[undefined]`, which stands for one request without a filter by id.
 */
export const groupIdsByRequest = (
  ids: readonly string[] | undefined,
): readonly (readonly string[] | undefined)[] =>
  ids === undefined ? [undefined] : splitIntoChunks([...new Set(ids)]);

/**
 * Lists the items that have one of these ids, up to `limit` items in total, with several requests if the ids
 * don't fit into one. An empty list of ids sends no request: a query with an empty list of ids would not filter
 * at all.
 */
export const listByIds = <Item>(
  ids: readonly string[] | undefined,
  limit: number | undefined,
  list: (ids: readonly string[] | undefined, limit: number | undefined) => Pages<Item>,
): Pages<Item> => {
  const maxItems = assertLimit(limit);
  const idChunks = groupIdsByRequest(ids);
  return new Pages(async function* pages() {
    let remaining = maxItems;
    for (const idChunk of idChunks) {
      if (remaining === 0) {
        return;
      }
      for await (const item of list(idChunk, Number.isFinite(remaining) ? remaining : undefined)) {
        remaining -= 1;
        yield [item];
      }
    }
  });
};

/** The page that an endpoint with cursors is queried for. */
export interface CursorRequest {
  readonly limit: number;
  readonly cursor?: string;
}

/** One page of an endpoint with cursors. */
export interface CursorPage<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string | undefined;
}

/** Lists by cursor. The list ends at `limit` items, or at a page without a `next` cursor. */
export const listByCursor = <Item>(
  limit: number | undefined,
  fetchPage: (request: CursorRequest) => Promise<CursorPage<Item>>,
): Pages<Item> => {
  const maxItems = assertLimit(limit);
  return new Pages(async function* pages() {
    let remaining = maxItems;
    let cursor: string | undefined;
    while (remaining > 0) {
      const pageSize = Math.min(maxPageItems, remaining);
      const page: CursorPage<Item> = await fetchPage({
        limit: pageSize,
        ...(cursor === undefined ? {} : { cursor }),
      });
      yield page.items.slice(0, pageSize);
      remaining -= page.items.length;
      if (page.next === undefined) {
        return;
      }
      if (page.next === cursor) {
        throw new ResponseError(
          'Failed to list: the server returned the same cursor twice, so the list would never end. Pass a limit of one page, and check the server with "npx millrace doctor"',
        );
      }
      cursor = page.next;
    }
  });
};

/**
 * Validates a limit and returns it; returns `Infinity` if there is none.
 *
 * @throws {@link ValidationError} if it is not a whole number of at least 1.
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
