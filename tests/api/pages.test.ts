import * as fc from "fast-check";
import { expect, test } from "vitest";
import { listByCursor, listByOffset } from "../../src/api/http/pages.ts";
import type { CursorPage, CursorRequest, OffsetRequest, Pages } from "../../src/api/http/pages.ts";

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

interface Listed {
  readonly pages: Pages<number>;
  readonly sizes: number[];
}

/** Lists `count` items by offset. */
function byOffset(count: number, limit?: number): Listed {
  const sizes: number[] = [];
  const fetchPage = async (request: OffsetRequest): Promise<readonly number[]> => {
    sizes.push(request.limit);
    return numbers(count).slice(request.offset, request.offset + request.limit);
  };
  return { pages: listByOffset(limit, fetchPage, String), sizes };
}

/** Lists `count` items by cursor. Pages can be shorter than requested. */
function byCursor(count: number, limit?: number, most = 100): Listed {
  const sizes: number[] = [];
  const fetchPage = async (request: CursorRequest): Promise<CursorPage<number>> => {
    sizes.push(request.limit);
    const start = Number(request.cursor ?? 0);
    const end = Math.min(count, start + Math.min(most, request.limit));
    const items = numbers(count).slice(start, end);
    return end < count ? { items, next: String(end) } : { items };
  };
  return { pages: listByCursor(limit, fetchPage), sizes };
}

const anyCount = fc.integer({ min: 0, max: 450 });
const anyLimit = fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined });

test("a list by offset contains the first items up to its limit, in order", async () => {
  await fc.assert(
    fc.asyncProperty(anyCount, anyLimit, async (count, limit) => {
      const { pages } = byOffset(count, limit);
      expect(await pages.toArray()).toEqual(numbers(Math.min(count, limit ?? count)));
    }),
  );
});

/** A list whose items can be deleted, added and moved while it is read. */
class ChangingList {
  items: readonly number[];
  requestCount = 0;

  constructor(count: number) {
    this.items = numbers(count);
  }

  readonly pages = listByOffset(
    undefined,
    async ({ limit, offset }) => {
      this.requestCount += 1;
      return this.items.slice(offset, offset + limit);
    },
    String,
  );

  delete(isDeleted: (item: number) => boolean): void {
    this.items = this.items.filter((item) => !isDeleted(item));
  }
}

test.each([1, 99, 100, 101, 250, 1_000])("a loop that deletes all of %i items", async (count) => {
  const list = new ChangingList(count);
  const deleted: number[] = [];
  for await (const item of list.pages) {
    list.delete((other) => other === item);
    deleted.push(item);
  }
  expect(list.items).toEqual([]);
  expect(deleted).toEqual(numbers(count));
  expect(list.requestCount).toBeLessThanOrEqual(Math.ceil(count / 100) * 3);
});

test("a loop skips no item that stays, and yields none twice, if others are deleted and added", async () => {
  const anyChanges = fc.array(
    fc.record({ at: fc.nat(400), added: fc.nat(120), deletes: fc.nat(9) }),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 400 }), anyChanges, async (count, changes) => {
      const list = new ChangingList(count);
      const gone = new Set<number>();
      const seen: number[] = [];
      for await (const item of list.pages) {
        seen.push(item);
        for (const { at, added, deletes } of changes) {
          if (at === seen.length) {
            const start = Math.min(0, ...list.items);
            list.items = [...numbers(added).map((n) => start - 1 - n), ...list.items];
            for (const other of list.items.filter((n) => n >= 0 && n % 10 < deletes)) {
              gone.add(other);
            }
            list.delete((other) => gone.has(other));
          }
        }
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining(numbers(count).filter((n) => !gone.has(n))));
    }),
  );
});

test("a server that returns the same page for each offset ends the list with an error", async () => {
  const pages = listByOffset(undefined, async () => numbers(100), String);
  await expect(pages.toArray()).rejects.toMatchObject({
    code: "ANSWER",
    message: expect.stringContaining("without a new item") as unknown,
  });
});

test("a list by cursor contains the same, however short the pages are", async () => {
  const anyMost = fc.integer({ min: 1, max: 100 });
  await fc.assert(
    fc.asyncProperty(anyCount, anyLimit, anyMost, async (count, limit, most) => {
      const { pages } = byCursor(count, limit, most);
      expect(await pages.toArray()).toEqual(numbers(Math.min(count, limit ?? count)));
    }),
  );
});

test("no page is requested beyond the limit or after a short page, and none of more than 100 items", async () => {
  const limited = byOffset(1_000, 250);
  await limited.pages.toArray();
  // A page that is not the first begins with the last item of the previous one.
  expect(limited.sizes).toEqual([100, 100, 52]);
  const short = byOffset(198);
  await short.pages.toArray();
  expect(short.sizes).toEqual([100, 100]);
});

test.each([byOffset, byCursor])("pages are fetched as they are consumed (%#)", async (list) => {
  const { pages, sizes } = list(1_000);
  expect(sizes).toEqual([]);
  for await (const item of pages) {
    if (item === 150) {
      break;
    }
  }
  expect(sizes).toEqual([100, 100]);
});

test("each loop over a list starts at the first page", async () => {
  const { pages } = byOffset(120);
  expect(await pages.toArray()).toEqual(await pages.toArray());
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "100", null, 2 ** 60])(
  "a limit of %j is refused before anything is requested",
  (limit) => {
    const words = /^limit must be a whole number of at least 1, not /;
    expect(() => byOffset(1, limit as number)).toThrow(words);
    expect(() => byCursor(1, limit as number)).toThrow(words);
  },
);

test("a server that returns more items than requested does not lengthen the list", async () => {
  expect(await listByOffset(3, async () => numbers(9), String).toArray()).toEqual([0, 1, 2]);
  const page = { items: numbers(9), next: "again" };
  expect(await listByCursor(3, async () => page).toArray()).toEqual([0, 1, 2]);
});

test("a page that returns its own cursor ends the list with an error", async () => {
  const pages = listByCursor(undefined, async () => ({ items: [1], next: "same" }));
  await expect(pages.toArray()).rejects.toMatchObject({ code: "ANSWER" });
});
