import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { checkFilter } from "../checker.ts";
import { compileExampleFilter } from "../../datasets/examples/example-filter-source.ts";
import { exampleFields } from "../fields.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { openWriter } from "../../store/schema.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

interface ExampleInit {
  readonly metadata?: string;
  readonly inputs?: string;
  readonly outputs?: string | null;
  readonly micros?: number;
  readonly sourceRunId?: string;
}

const sourceRunId = randomUUID();
const deep = `${'{"a":'.repeat(1_500)}1${"}".repeat(1_500)}`;

const examples: Readonly<Record<string, ExampleInit>> = {
  plain: { metadata: '{"foo":"bar","dataset_split":["base"]}', inputs: '{"q":"What is 2+2?"}' },
  tenant: {
    metadata: '{"foo":"baz","tenant_id":"t","dataset_split":["train","base"]}',
    outputs: '{"answer":{"text":"Four"}}',
    sourceRunId,
  },
  late: { micros: 1_704_153_600_000_000, metadata: '{"tenant_id":null,"nul":"a\\u0000b"}' },
  deep: { inputs: deep, metadata: '{"foo":"bar"}' },
};

describe("a filter of examples", () => {
  let db: Connection;

  beforeAll(() => {
    db = openWriter(":memory:");
    const insert = db.prepare(
      `INSERT INTO examples (tenant_id, dataset_id, id, position, created_us, from_us, source_run_id, inputs, outputs, metadata)
       VALUES ('t', ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
    );
    for (const [name, init] of Object.entries(examples)) {
      const { micros = 1_704_067_200_000_000, inputs = "{}", outputs = null } = init;
      const { metadata = "{}", sourceRunId: source = null } = init;
      insert.run([name, randomUUID(), micros, micros + 1, source, inputs, outputs, metadata]);
    }
  });

  test.each<[string, readonly string[]]>([
    [
      `and(not(has(metadata, '{"foo": "bar"}')), exists(metadata, "tenant_id"))`,
      ["late", "tenant"],
    ],
    [`has(metadata, '{"foo": "bar"}')`, ["deep", "plain"]],
    ['exists(metadata, "tenant_id")', ["late", "tenant"]],
    ['and(eq(metadata_key, "tenant_id"), eq(metadata_value, "t"))', ["tenant"]],
    ['eq(metadata_value, "a\\u0000b")', ["late"]],
    ['has(splits, "train")', ["tenant"]],
    ['in(split, ["base", "x"])', ["plain", "tenant"]],
    ['neq(split, "base")', ["deep", "late"]],
    ['gt(created_at, "2024-01-01T12:00:00Z")', ["late"]],
    ['lte(modified_at, "2024-01-01T00:00:00.000001Z")', ["deep", "plain", "tenant"]],
    [`eq(source_run_id, "${sourceRunId}")`, ["tenant"]],
    ["neq(source_run_id, null)", ["tenant"]],
    ['and(eq(output_key, "answer.text"), like(output_value, "F%"))', ["tenant"]],
    ['eq(metadata.foo, "bar")', ["deep", "plain"]],
    ['neq(metadata.foo, "bar")', ["late", "tenant"]],
    ['and(neq(metadata.foo, "baz"), neq(metadata.tenant_id, null))', ["deep", "plain"]],
    ['or(eq(metadata.foo, "baz"), eq(metadata.tenant_id, null))', ["late", "tenant"]],
    ['and(eq(metadata.foo, "baz"), eq(metadata.tenant_id, "t"))', ["tenant"]],
    ['not(in(metadata.foo, ["bar", "baz"]))', ["late"]],
    ['like(outputs.answer.text, "F%")', ["tenant"]],
    [`${"not(".repeat(10)}and(neq(metadata.foo, "bar"))${")".repeat(10)}`, ["late", "tenant"]],
    ["exists(metadata.tenant_id)", ["late", "tenant"]],
    ["not(exists(outputs.answer.text))", ["deep", "late", "plain"]],
    ["eq(metadata.tenant_id, null)", ["late"]],
    ["eq(metadata.missing, null)", []],
    [`has(outputs.answer, '{"text": "Four"}')`, ["tenant"]],
    ['eq(metadata.dataset_split, "train")', ["tenant"]],
    ['search("WHAT IS")', ["plain"]],
    ['search(inputs, "2+2")', ["plain"]],
    ['has(metadata, \'{"foo": "\\\' OR 1=1 --"}\')', []],
  ])("%s", (text, names) => {
    const { sql, values } = compileExampleFilter(checkFilter(text, exampleFields));
    const rows = db.prepare(`SELECT dataset_id FROM examples e WHERE ${sql} ORDER BY 1`).raw();
    expect(parseRows(rows.all([...values])).map(([name]) => name)).toEqual(names);
  });
});
