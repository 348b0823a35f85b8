import { expect, test } from "vitest";
import { extractSearchTerms } from "../search/search-terms.ts";
import { DatasetFixture, itemsOf, textOf } from "../../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../../tests/support/matchers.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

test("search ranks by similarity of the inputs, and reflects later writes", async () => {
  const fixture = await DatasetFixture.open();
  const other = await DatasetFixture.open({ name: "other" }, fixture.server);
  const send = async (text: string, rest: object = {}) => {
    const body = { inputs: { question: text }, limit: 5, ...rest };
    const { json } = await fixture.call(`POST /datasets/${fixture.id}/search`, { body });
    return itemsOf(json["examples"] ?? {}).map((one) => textOf(one["inputs"]?.["q"]));
  };
  const search = { body: { inputs: { q: "x" }, limit: 1 } };
  expect(await fixture.call(`POST /datasets/${fixture.id}/search`, search)).toMatchObject({
    status: 400,
    json: { detail: containing("not indexed") },
  });
  await fixture.addMany([
    { inputs: { q: "How many people live in Berlin?" }, split: "a" },
    { inputs: { q: "How many people live in Paris?" }, split: "b" },
    { inputs: { q: "The capital of Peru" }, outputs: { a: "Berlin" } },
  ]);
  await other.add({ inputs: { q: "people in Berlin, of another dataset" } });
  for (const path of [`/datasets/${fixture.id}/index`, `/datasets/${other.id}/index`]) {
    expect(await fixture.call(`POST ${path}`)).toMatchObject({
      status: 200,
      json: { tag: "latest" },
    });
  }
  expect(await send("people who live in BERLIN")).toEqual([
    "How many people live in Berlin?",
    "How many people live in Paris?",
  ]);
  expect(await send("people live berlin", { limit: 1 })).toHaveLength(1);
  expect(await send("people live berlin", { filter: 'eq(split, "b")' })).toEqual([
    "How many people live in Paris?",
  ]);
  expect(await send('" OR * NEAR( perú')).toEqual(["The capital of Peru"]);
  // If nothing is similar, or there are no search terms, the newest examples are returned, as the platform does.
  expect(await send("zzz", { limit: 2 })).toHaveLength(2);

  const added = await fixture.add({ inputs: { q: "people of Lima" } });
  expect(await send("lima")).toEqual(["people of Lima"]);
  await fixture.call(`PATCH /examples/${added}`, { body: { inputs: { q: "people of Quito" } } });
  expect(await send("lima quito")).toEqual(["people of Quito"]);
  await fixture.call(`DELETE /examples/${added}`);
  expect(await send("peru quito")).toEqual(["The capital of Peru"]);

  const [first] = await fixture.versions();
  await fixture.call(`PUT /datasets/${fixture.id}/tags`, { body: { as_of: first, tag: "v1" } });
  await fixture.add({ inputs: { q: "later about Berlin" } });
  await fixture.call(`POST /datasets/${fixture.id}/index`, { body: { tag: "v1" } });
  await fixture.add({ inputs: { q: "even later about Berlin" } });
  expect(await send("berlin")).toEqual(["How many people live in Berlin?"]);

  const [gone = ""] = (await fixture.list({ full_text_contains: "in Berlin" })).map(({ id }) =>
    textOf(id),
  );
  const removal = { example_ids: [gone], hard_delete: true };
  await fixture.call("POST /v1/platform/datasets/examples/delete", { body: removal });
  expect(await send("berlin people")).toEqual(["How many people live in Paris?"]);
});

test("the search terms of a value are the distinct words of its strings and numbers, up to the limit", () => {
  expect(
    extractSearchTerms({ b: "Über-maß über", a: [1.5, true, null, { c: "x_y" }] }, 100),
  ).toEqual(["über", "maß", "1", "5", "x", "y"]);
  expect(extractSearchTerms("a b c d", 3)).toEqual(["a", "b", "c"]);
  let deep: unknown = "end";
  for (let level = 0; level < 100_000; level += 1) {
    deep = [deep];
  }
  expect(extractSearchTerms(deep, 10)).toEqual(["end"]);
});

test("examples are returned with the root runs of the given sessions on them", async () => {
  const fixture = await DatasetFixture.open();
  const [first, second] = [
    await fixture.add({ inputs: { n: 1 } }),
    await fixture.add({ inputs: { n: 2 } }),
  ];
  const sessions = await Promise.all(
    ["one", "two"].map(async (name) => {
      const body = { name, reference_dataset_id: fixture.id };
      return textOf((await fixture.call("POST /sessions", { body })).json["id"]);
    }),
  );
  const runs = sessions.map((session_id, index) =>
    wireRun({
      session_id,
      session_name: undefined,
      reference_example_id: first,
      name: `run ${index}`,
    }),
  );
  for (const run of runs) {
    expect(await fixture.call("POST /runs", { body: run })).toMatchObject({ status: 202 });
  }
  const send = async (body: object) =>
    itemsOf((await fixture.call(`POST /datasets/${fixture.id}/runs`, { body })).json).map((one) => [
      textOf(one["id"]),
      itemsOf(one["runs"] ?? {}).map((run) => textOf(run["name"])),
    ]);
  expect(await send({ session_ids: sessions })).toEqual([
    [first, ["run 0", "run 1"]],
    [second, []],
  ]);
  expect(await send({ session_ids: [sessions[1]], example_ids: [first] })).toEqual([
    [first, ["run 1"]],
  ]);
  const filters = { [String(sessions[0])]: ['eq(name, "nope")'] };
  expect(await send({ session_ids: sessions, limit: 1, filters })).toEqual([[first, ["run 1"]]]);
  expect(await send({ session_ids: sessions, limit: 1, offset: 1 })).toEqual([[second, []]]);
});
