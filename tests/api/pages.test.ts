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
  return { pages: listByOffset(limit, fetchPage), sizes };
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
  expect(limited.sizes).toEqual([100, 100, 50]);
  const short = byOffset(199);
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
  expect(await listByOffset(3, async () => numbers(9)).toArray()).toEqual([0, 1, 2]);
  const page = { items: numbers(9), next: "again" };
  expect(await listByCursor(3, async () => page).toArray()).toEqual([0, 1, 2]);
});

test("a page that returns its own cursor ends the list with an error", async () => {
  const pages = listByCursor(undefined, async () => ({ items: [1], next: "same" }));
  await expect(pages.toArray()).rejects.toMatchObject({ code: "ANSWER" });
});
