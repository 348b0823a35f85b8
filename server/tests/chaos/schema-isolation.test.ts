import { expect, test } from "vitest";
import { DatasetFixture } from "../support/dataset-fixture.ts";
import { pollInfo, pollWrites } from "../support/info-poller.ts";

/** Maximum milliseconds for which a request may block the HTTP thread, or delay another tenant's write. */
const maxBlockedMs = 250;
const writeMaxMs = 1_000;

const pattern = { properties: { q: { type: "string", pattern: "^(a+)+$" } } };
/** Each schema refers to the next one twice, which makes 2 to the power of 30 in total. */
const doubling = {
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, index === 29 ? {} : { allOf: [next, next] }];
    }),
  ),
  $ref: "#/$defs/d0",
};
const unique = { properties: { q: { type: "array", uniqueItems: true } } };

test.each([
  ["a pattern that is matched endlessly", pattern, `${"a".repeat(40)}!`],
  ["references whose number doubles at each level", doubling, "x"],
  [
    "a long list of objects that are all different",
    unique,
    Array.from({ length: 30_000 }, (_, a) => ({ a: { a } })),
  ],
])(
  "%s in a schema delays no other request and no other write",
  async (_title, schema, q) => {
    const fixture = await DatasetFixture.open();
    const info = await pollInfo(fixture.server);
    const writes = await pollWrites(fixture.server);
    const created = await fixture.call("POST /datasets", {
      body: { name: "hostile", inputs_schema_definition: schema },
    });
    const id = created.json["id"];
    const body = { dataset_id: id, inputs: { q } };
    // If the schema was rejected, the dataset was not created either.
    const { status } = id === undefined ? created : await fixture.call("POST /examples", { body });
    expect([200, 422]).toContain(status);
    expect((await info.stop()).worstMs).toBeLessThan(maxBlockedMs);
    expect((await writes.stop()).worstMs).toBeLessThan(writeMaxMs);
  },
  60_000,
);

test("a schema with too many parts, references or patterns is rejected", async () => {
  const fixture = await DatasetFixture.open();
  const many = (count: number, make: (index: number) => object): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));
  const answerTo = async (schema: object): Promise<string> => {
    const body = { name: "many", inputs_schema_definition: schema };
    const { status, text } = await fixture.call("POST /datasets", { body });
    expect(status).toBe(422);
    return text;
  };
  expect(await answerTo({ properties: many(5_000, () => ({ type: "string" })) })).toContain(
    "more than 2000 nested schemas",
  );
  expect(
    await answerTo({ $defs: { a: {} }, properties: many(501, () => ({ $ref: "#/$defs/a" })) }),
  ).toContain("more than 500 references");
  expect(await answerTo({ properties: many(201, (at) => ({ pattern: `^${at}` })) })).toContain(
    "more than 200 patterns",
  );
});
