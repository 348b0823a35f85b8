import { expect, test } from "vitest";
import { DatasetFixture, itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../tests/support/matchers.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const metadata = {
  first: { mykey: "value", my: { nested: { key: "value" } } },
  second: { mykey: "othervalue", my: { nested: { key: "odd" } } },
  third: {},
};

// The three filters that the platform's client documents for the search, and similar ones.
const filters: readonly [string, readonly string[]][] = [
  ['eq(metadata.mykey, "value")', ["first"]],
  ['and(neq(metadata.my.nested.key, "value"), neq(metadata.mykey, "value"))', ["second", "third"]],
  ['or(eq(metadata.mykey, "value"), eq(metadata.mykey, "othervalue"))', ["first", "second"]],
  ["exists(metadata.my.nested.key)", ["first", "second"]],
  ['and(gt(inputs.n.one, 1), like(outputs.a, "t%"))', ["second", "third"]],
];

const parts = Object.entries(metadata).map(([name, given], index) => ({
  name,
  metadata: given,
  inputs: { q: "alike", name, n: { one: index + 1 } },
  outputs: { a: `t${index}` },
}));

test("the search in a dataset, and the list of its examples, accept paths in filters", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.addMany(parts.map(({ name: _name, ...example }) => example));
  await fixture.call(`POST /datasets/${fixture.id}/index`);
  for (const [filter, names] of filters) {
    const body = { inputs: { q: "alike" }, limit: 5, filter };
    const { json } = await fixture.call(`POST /datasets/${fixture.id}/search`, { body });
    const found = itemsOf(json["examples"] ?? {}).map((one) => textOf(one["inputs"]?.["name"]));
    expect(found.toSorted()).toEqual(names);
    const listed = await fixture.list({ filter });
    expect(listed.map((one) => textOf(one["inputs"]?.["name"])).toSorted()).toEqual(names);
  }
  const body = { inputs: { q: "alike" }, limit: 5, filter: 'eq(metdata.mykey, "value")' };
  expect(await fixture.call(`POST /datasets/${fixture.id}/search`, { body })).toMatchObject({
    status: 422,
    json: { detail: containing("filter: unknown field `metdata`, did you mean `metadata`?") },
  });
});

test("queries of runs, and their statistics, accept paths in filters", async () => {
  const server = await runServer();
  const post = parts.map(({ metadata: given, ...rest }) =>
    wireRun({ ...rest, extra: { metadata: given } }),
  );
  await call(server, "POST /runs/batch", { body: { post } });
  for (const [filter, names] of filters) {
    for (const which of ["filter", "trace_filter", "tree_filter"]) {
      const { json } = await call(server, "POST /runs/query", { body: { [which]: filter } });
      const found = itemsOf(json["runs"] ?? {}).map((run) => textOf(run["name"]));
      expect(found.toSorted()).toEqual(names);
    }
    const { json } = await call(server, "POST /runs/stats", { body: { filter } });
    expect(json["run_count"]).toBe(names.length);
  }
});
