import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DatasetFixture, textOf } from "../../../../tests/support/dataset-fixture.ts";

test("a list in the order of creation continues after an example, whatever is written in between", async () => {
  const fixture = await DatasetFixture.open();
  for (let n = 0; n < 10; n += 5) {
    await fixture.addMany([0, 1, 2, 3, 4].map((at) => ({ inputs: { n: n + at } })));
  }
  const pageAfter = async (after: string, more: Record<string, string> = {}) =>
    (await fixture.listOf("id", { order: "written", limit: "3", after, ...more })).map(textOf);
  const asOf = (await fixture.versions()).at(-1) ?? "";
  const numbers = (await fixture.listOf("inputs", { order: "written" })).map((inputs) => ({
    ...(inputs as object),
  }));
  expect(numbers).toEqual(Array.from({ length: 10 }, (_, n) => ({ n })));
  const pinned = await fixture.listOf("id", { order: "written", as_of: asOf });
  const found: string[] = [];
  for (let after = "", page = await pageAfter("", { as_of: asOf }); page.length > 0;) {
    found.push(...page);
    after = page.at(-1) ?? "";
    // Change the example after which the list continues, delete one, and add one.
    await fixture.call(`PATCH /examples/${after}`, { body: { inputs: { changed: true } } });
    await fixture.call(`DELETE /examples/${found[0] ?? ""}`);
    await fixture.addMany([{ inputs: { new: true } }]);
    page = await pageAfter(after, { as_of: asOf });
  }
  expect(found).toEqual(pinned);
  expect(await pageAfter(found.at(-1) ?? "")).not.toEqual([]);
  const down = { order: "written", descending: "true", as_of: asOf, after: found[3] ?? "" };
  expect(await fixture.listOf("id", down)).toEqual([found[2], found[1], found[0]]);
  const place = `/examples?dataset=${fixture.id}&order=written&after=`;
  expect(await fixture.call(`GET ${place}${randomUUID()}`)).toMatchObject({ status: 404 });
  expect(await fixture.call(`GET ${place}no-id`)).toMatchObject({ status: 422 });
});
