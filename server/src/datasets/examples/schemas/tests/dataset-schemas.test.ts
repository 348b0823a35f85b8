import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { SchemaValidator } from "../schema-validator.ts";
import { runWithin } from "../time-limit.ts";
import { serverLimits } from "../../../../model/options.ts";
import { DatasetFixture } from "../../../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../../../tests/support/matchers.ts";

const inputsSchema = {
  type: "object",
  properties: { question: { type: "string" }, at: { type: "string", format: "date-time" } },
  required: ["question"],
  additionalProperties: false,
};
const outputsSchema = { type: "object", properties: { score: { type: "number", maximum: 1 } } };

test("every way to write examples validates them, and the error names example and path", async () => {
  const fixture = await DatasetFixture.open({
    inputs_schema_definition: inputsSchema,
    outputs_schema_definition: outputsSchema,
  });
  expect((await fixture.call(`GET /datasets/${fixture.id}`)).json).toMatchObject({
    inputs_schema_definition: inputsSchema,
    outputs_schema_definition: outputsSchema,
  });
  const good = { inputs: { question: "?" }, outputs: { score: 0.5 } };
  const id = await fixture.add(good);
  const bad = randomUUID();
  const faulty = { ...good, id: bad, dataset_id: fixture.id, outputs: { score: 2 } };
  const form = new FormData();
  form.append(bad, new Blob(["{}"]));
  form.append(`${bad}.inputs`, new Blob([JSON.stringify(good.inputs)]));
  form.append(`${bad}.outputs`, new Blob([JSON.stringify(faulty.outputs)]));
  const tries = [
    fixture.call("POST /examples", { body: faulty }),
    fixture.call("POST /examples/bulk", { body: [{ ...good, dataset_id: fixture.id }, faulty] }),
    fixture.call(`POST /v1/platform/datasets/${fixture.id}/examples`, { body: form }),
  ];
  for (const { status, text } of await Promise.all(tries)) {
    expect([status, text]).toEqual([422, containing(`example ${bad}: outputs/score must be <= 1`)]);
  }
  const patched = await fixture.call(`PATCH /examples/${id}`, {
    body: { inputs: { question: 1 } },
  });
  expect([patched.status, patched.text]).toEqual([
    422,
    containing(`example ${id}: inputs/question must be string`),
  ]);
  const extra = await fixture.addMany([{ inputs: { question: "?", other: 1 } }]);
  expect(extra.text).toContain("inputs must NOT have additional properties");
  const time = await fixture.addMany([{ inputs: { question: "?", at: "soon" } }]);
  expect(time.text).toContain("inputs/at must match format");
  expect(await fixture.versions()).toHaveLength(1);
});

test("a schema that examples do not match is rejected unless they are changed with it; null removes it", async () => {
  const fixture = await DatasetFixture.open();
  const id = await fixture.add({ inputs: { n: "text" } });
  const schema = { properties: { n: { type: "number" } } };
  const path = `PATCH /datasets/${fixture.id}`;
  const refused = await fixture.call(path, { body: { inputs_schema_definition: schema } });
  expect([refused.status, refused.text]).toEqual([
    422,
    containing(`example ${id}: inputs/n must be number`),
  ]);
  expect(
    (await fixture.call(`GET /datasets/${fixture.id}`)).json["inputs_schema_definition"],
  ).toBeNull();
  const patch_examples = { [id]: { inputs: { n: 1 } } };
  const body = { inputs_schema_definition: schema, patch_examples };
  expect(await fixture.call(path, { body })).toMatchObject({
    status: 200,
    json: { inputs_schema_definition: schema },
  });
  expect(await fixture.listOf("inputs")).toEqual([{ n: 1 }]);
  expect(
    await fixture.call(`PATCH /examples/${id}`, { body: { inputs: { n: "x" } } }),
  ).toMatchObject({
    status: 422,
  });
  await fixture.call(path, { body: { description: "the schema stays" } });
  expect(
    (await fixture.call(path, { body: { inputs_schema_definition: null } })).json[
      "inputs_schema_definition"
    ],
  ).toBeNull();
  expect(
    await fixture.call(`PATCH /examples/${id}`, { body: { inputs: { n: "x" } } }),
  ).toMatchObject({
    status: 200,
  });
});

test("a malformed schema is rejected with 422 and the reason", async () => {
  const fixture = await DatasetFixture.open();
  const faults: readonly (readonly [object, string])[] = [
    [{ type: "wibble" }, "inputs_schema_definition: schema is invalid"],
    [{ $ref: "https://example.com/other" }, "can't resolve reference"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "no schema with key or ref"],
    [{ $async: true, type: "object" }, "$async"],
    [{ properties: { a: { pattern: "(" } } }, "Invalid regular expression"],
    [{ description: "x".repeat(serverLimits.schemaChars) }, "longer than"],
  ];
  for (const [schema, reason] of faults) {
    const body = { name: "other", inputs_schema_definition: schema };
    const response = await fixture.call("POST /datasets", { body });
    expect([response.status, response.text]).toEqual([422, containing(reason)]);
    const patch = { body: { inputs_schema_definition: schema } };
    expect(await fixture.call(`PATCH /datasets/${fixture.id}`, patch)).toMatchObject({
      status: 422,
    });
  }
});

test.each([
  undefined,
  "http://json-schema.org/draft-06/schema#",
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2019-09/schema",
  "https://json-schema.org/draft/2020-12/schema",
])("schemas of %s are supported", ($schema) => {
  const check = new SchemaValidator();
  const schemas = {
    inputsSchema: { ...($schema && { $schema }), properties: { a: { const: 1 } } },
    outputsSchema: null,
  };
  const fits = (inputs: string) => check.assertValid(schemas, [{ id: "x", inputs, outputs: null }]);
  expect(() => fits('{"a":1}')).not.toThrow();
  expect(() => fits('{"a":2}')).toThrow("example x: inputs/a must be equal to constant");
});

test("work that takes too long is interrupted, even within a regular expression", () => {
  const evil = /^(a+)+$/;
  expect(() => runWithin(50, () => evil.test(`${"a".repeat(40)}!`))).toThrow(
    "it takes longer than 50 ms",
  );
  expect(runWithin(1_000, () => 7)).toBe(7);
  expect(() =>
    runWithin(1_000, () => {
      throw new TypeError("its own");
    }),
  ).toThrow(TypeError);
});
