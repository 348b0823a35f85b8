import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgres, openSqlite } from "../../../tests/support/repository-engines.ts";
import type { RepositoryEngine } from "../../../tests/support/repository-engines.ts";
import { checkFilter } from "../checker.ts";
import { compileExampleFilter } from "../../datasets/examples/search/example-filter-source.ts";
import { exampleFields } from "../fields.ts";
import { fillPlaceholders } from "../../storage/dialect.ts";
import type { EngineName } from "../../storage/dialect.ts";
import { createQueryBuilder } from "../../storage/query.ts";

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

interface Tables {
  readonly examples: {
    readonly key: number;
    readonly tenant_id: string;
    readonly dataset_id: string;
    readonly id: string;
    readonly position: number;
    readonly created_us: number;
    readonly from_us: number;
    readonly source_run_id: string | null;
    readonly inputs: string;
    readonly outputs: string | null;
    readonly metadata: string;
  };
}

const builder = createQueryBuilder<Tables>();

const engines: readonly (readonly [EngineName, () => Promise<RepositoryEngine>])[] = [
  ["sqlite", openSqlite],
  ["postgres", () => openPostgres(() => undefined)],
];

describe.each(engines)("a filter of examples on %s", (engineName, open) => {
  let engine: RepositoryEngine;

  beforeAll(async () => {
    engine = await open();
    for (const [index, [name, init]] of Object.entries(examples).entries()) {
      const { micros = 1_704_067_200_000_000, inputs = "{}", outputs = null } = init;
      const { metadata = "{}", sourceRunId: source = null } = init;
      await engine.db.run(
        builder.insertInto("examples").values({
          key: index + 1,
          tenant_id: "t",
          dataset_id: name,
          id: randomUUID(),
          position: 1,
          created_us: micros,
          from_us: micros + 1,
          source_run_id: source,
          inputs,
          outputs,
          metadata,
        }),
      );
    }
  });
  afterAll(() => engine.close());

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
    ["exists(source_run_id)", ["tenant"]],
    ["source_run_id = null", ["deep", "late", "plain"]],
    ["modified_at = null", []],
    ["exists(modified_at)", ["deep", "late", "plain", "tenant"]],
    ["split != null", ["plain", "tenant"]],
    ["exists(splits)", ["plain", "tenant"]],
    ["split = null", ["deep", "late"]],
    ["exists(metadata)", ["deep", "late", "plain", "tenant"]],
    // The inputs of `deep` are deeper than what the engines read alike.
    ["exists(inputs) and metadata.dataset_split = base", ["plain"]],
    ["exists(outputs)", ["tenant"]],
    ["version = null", ["deep", "late", "plain", "tenant"]],
    ["exists(user)", []],
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
  ])("%s", async (text, names) => {
    const { sql, values } = compileExampleFilter(checkFilter(text, exampleFields), engineName);
    const rows = await engine.db.all(
      builder
        .selectFrom("examples as e")
        .select("e.dataset_id")
        .where(fillPlaceholders<boolean>(sql, values))
        .orderBy("e.dataset_id"),
    );
    expect(rows.map((row) => row.dataset_id)).toEqual(names);
  });
});
