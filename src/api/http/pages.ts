import { ResponseError, ValidationError } from "../../model/errors.ts";

/**
 * A list that is fetched page by page as it is consumed. Each `for await` starts again at the first page; after the
 * loop is left, no further page is fetched.
 *
 * A loop may delete or change the items of its list: no item that stays in the list is skipped, and no item is yielded
 * twice.
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

/** Maximum number of items per page. Servers accept no larger `limit`. */
const maxPageItems = 100;

/** The page to request from an endpoint with `limit` and `offset`. */
export interface OffsetRequest {
  readonly limit: number;
  readonly offset: number;
}

/** How many of the last listed items a list by offset recognizes if the server returns them again. */
const recognizedItems = 10_000;

/** After this many pages in a row without a new item, a list by offset ends with an error. */
const maxRepeatedPages = 200;

/**
 * Lists by `limit` and `offset`. The list ends at `limit` items, or at a page that is shorter than requested.
 *
 * An offset counts the items that are before it in the list when the page is requested. If some of them were deleted
 * meanwhile, a page that began where the previous one ended would skip as many later items. So each page begins with
 * the last item of the previous one. If it begins with an unknown item instead, earlier pages are requested until one
 * begins with an item that was already listed. Items that are returned again, because others were added before them,
 * are left out if they are among the last {@link recognizedItems}.
 *
 * @param fetchPage - also receives the last item of the previous page, for endpoints that continue after an item.
 * @param identify - returns a text that is different for each item of the list.
 */
export const listByOffset = <Item>(
  limit: number | undefined,
  fetchPage: (request: OffsetRequest, lastItem: Item | undefined) => Promise<readonly Item[]>,
  identify: (item: Item) => string,
): Pages<Item> => {
  const maxItems = validateLimit(limit);
  return new Pages(async function* pages() {
    const listed = new Set<string>();
    let remaining = maxItems;
    let offset = 0;
    let lastItem: Item | undefined;
    let stepBack = maxPageItems;
    let repeatedPages = 0;
    while (remaining > 0) {
      const pageSize = Math.min(maxPageItems, listed.size === 0 ? remaining : remaining + 1);
      const page = await fetchPage({ limit: pageSize, offset }, lastItem);
      const [firstItem] = page;
      if (offset > 0 && (firstItem === undefined || !listed.has(identify(firstItem)))) {
        offset = Math.max(0, offset - stepBack);
        stepBack *= 2;
        continue;
      }
      const newItems = page.filter((item) => !listed.has(identify(item))).slice(0, remaining);
      remember(listed, newItems.map(identify));
      repeatedPages = newItems.length === 0 ? repeatedPages + 1 : 0;
      if (repeatedPages > maxRepeatedPages) {
        throw new ResponseError(
          `Failed to list: the server returned ${maxRepeatedPages} pages without a new item, so the list might never end. Pass a limit of at most 100, which needs only one page, and check the server with "npx millrace doctor"`,
        );
      }
      yield newItems;
      if (page.length < pageSize) {
        return;
      }
      remaining -= newItems.length;
      offset += page.length - 1;
      lastItem = page.at(-1);
      stepBack = maxPageItems;
    }
  });
};

/** Identifies an item by its id. */
export const identifyById = ({ id }: { readonly id: string }): string => id;

/** Adds the keys of listed items, and removes the oldest keys if there are more than {@link recognizedItems}. */
function remember(listed: Set<string>, keys: readonly string[]): void {
  for (const key of keys) {
    listed.add(key);
  }
  for (const key of listed) {
    if (listed.size <= recognizedItems) {
      return;
    }
    listed.delete(key);
  }
}

/** A list without items. */
export const emptyList = <Item>(limit: number | undefined): Pages<Item> => {
  validateLimit(limit);
  return new Pages(async function* pages() {
    yield [];
  });
};

/** Maximum number of ids per request. With more, the URL would become too long. */
const idsPerRequest = 100;

/**
 * Validates and returns the number of items to skip at the beginning of a list.
 *
 * @throws {@link ValidationError} if `offset` is not a whole number of at least 0, or is more than 0 although the ids
 * don't fit into one request.
 */
export function validateOffset(offset: number = 0, ids: readonly string[] = []): number {
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
  size = idsPerRequest,
): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
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
  const maxItems = validateLimit(limit);
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

/** The page to request from an endpoint with cursors. */
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
  const maxItems = validateLimit(limit);
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
          'Failed to list: the server returned the same cursor twice, so the list would never end. Pass a limit of at most 100, which needs only one page, and check the server with "npx millrace doctor"',
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
function validateLimit(limit: unknown): number {
  if (limit === undefined) {
    return Number.POSITIVE_INFINITY;
  }
  if (typeof limit !== "number" || !Number.isSafeInteger(limit) || limit < 1) {
    const shown = typeof limit === "number" ? String(limit) : `a value of type ${typeof limit}`;
    throw new ValidationError(`limit must be a whole number of at least 1, not ${shown}`);
  }
  return limit;
}
