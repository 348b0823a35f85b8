import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { routeTree } from "../../src/app/routes.ts";
import { listPages } from "../../src/components/page/pages.ts";

const pages = listPages(routeTree.children);
const docs = readFileSync(new URL("../../../docs/web.md", import.meta.url), "utf8");

test("no two pages have the same title or the same shortcut", () => {
  const titles = pages.map(({ title }) => title);
  const keys = pages.flatMap((page) => page.keys ?? []);
  expect(new Set(titles).size).toBe(titles.length);
  expect(new Set(keys).size).toBe(keys.length);
});

test("docs/web.md has the address and the shortcut of each page", () => {
  const missing = pages.flatMap(({ path, keys }) => {
    const address = path.replaceAll(/\$(\w+)/g, "{$1}");
    return [`\`${address}`, ...(keys === undefined ? [] : [`\`${keys}\``])].filter(
      (text) => !docs.includes(text),
    );
  });
  expect(missing).toEqual([]);
});
