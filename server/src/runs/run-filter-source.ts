import { threadKeys } from "millrace/model";
import type { IndexedMeasure } from "./tables/run-measure-tables.ts";
import { measureNames } from "./usage/measures.ts";
import type { MeasureName } from "./usage/measures.ts";
import { createModelCallSql, maxModelNameChars } from "./usage/run-cost.ts";
import { usageCosts, usageSources } from "./usage/usage-sources.ts";
import type { UsageName } from "./usage/usage-sources.ts";
import { payloadTextSql } from "./shared-texts/sqlite-shared-texts.ts";
import type { FilterSource } from "../filter/compiler.ts";
import type { JsonValue } from "../filter/filter-sql.ts";
import { sqliteFilterSql } from "../filter/sqlite-filter-sql.ts";

/**
 * Returns the SQL expressions for the fields of a run: columns of `runs` under an alias, and members of the run's
 * payloads. If several payloads have a member, the latest patch wins; the payload of the post is used only if no
 * patch has the member.
 */
export function selectRunSource(
  runAlias: "r" | "q",
  createIndexCondition?: FilterSource["createIndexCondition"],
): FilterSource {
  const source = (sources[runAlias] ??= createSource(runAlias));
  return createIndexCondition === undefined ? source : { ...source, createIndexCondition };
}

/**
 * The sources are created once, because creating their hundreds of expressions takes longer than compiling a typical
 * filter.
 */
const sources: { r?: FilterSource; q?: FilterSource } = {};

function createSource(runAlias: string): FilterSource {
  const metadata = createMemberSql(runAlias, {
    member: "extra",
    inner: ".metadata",
    type: "object",
  });
  const inputs = createMemberSql(runAlias, { member: "inputs", type: "object" });
  const outputs = createMemberSql(runAlias, { member: "outputs", type: "object" });
  const tags = createMemberSql(runAlias, { member: "tags", type: "array" });
  const { first_token_us: firstToken, ...usage } = createMeasureColumnSql(runAlias);
  const error = `(${createMemberSql(runAlias, { member: "error" })} ->> '$')`;
  return {
    language: sqliteFilterSql,
    columns: {
      id: `${runAlias}.id`,
      trace_id: `${runAlias}.trace_id`,
      parent_run_id: `${runAlias}.parent_run_id`,
      session_id: `${runAlias}.project_id`,
      reference_example_id: `${runAlias}.reference_example_id`,
      name: `${runAlias}.name`,
      run_type: `${runAlias}.run_type`,
      status: `CASE WHEN ${runAlias}.has_error = 1 THEN 'error' WHEN ${runAlias}.end_us IS NULL THEN 'pending' ELSE 'success' END`,
      error,
      start_time: `${runAlias}.start_us`,
      end_time: `${runAlias}.end_us`,
      first_token_time: firstToken,
      latency: `(${runAlias}.end_us - ${runAlias}.start_us)`,
      first_token: `(${firstToken} - ${runAlias}.start_us)`,
      execution_order: `CASE WHEN ${runAlias}.parent_run_id IS NULL THEN 1 ELSE 2 END`,
      ...usage,
      trace_tokens: createTraceSumSql(runAlias, "total_tokens"),
      trace_cost: createTraceSumSql(runAlias, "total_cost"),
    },
    conditions: {
      is_root: `(${runAlias}.parent_run_id IS NULL)`,
      error: `(${runAlias}.has_error = 1)`,
    },
    lists: {
      tags,
      tag: tags,
      thread_id: createThreadIdsSql(metadata),
      trace_model: createTraceModelsSql(runAlias),
    },
    objects: { metadata, inputs, outputs },
    feedback: {
      from: "feedback f",
      // The unary plus keeps SQLite from reading all feedback of the tenant: it finds the run's few rows by its id.
      where: `f.run_id = ${runAlias}.id AND +f.tenant_id = (SELECT tenant_id FROM projects WHERE id = ${runAlias}.project_id)`,
      key: "(f.key_json ->> '$')",
      values: {
        feedback_score: {
          type: "iif(f.score IS NULL, 'null', 'real')",
          atom: "f.score",
          number: "f.score",
        },
        feedback_value: createJsonColumn("f.value_json"),
        feedback_comment: createJsonColumn("f.comment_json"),
      },
    },
    searchedColumns: {
      texts: [`${runAlias}.name`, error],
      json: [inputs, outputs, tags, metadata],
    },
  };
}

/** SQL for a column of JSON text. A text that SQLite can't parse is treated as null. */
function createJsonColumn(column: string): JsonValue {
  const content = `CASE WHEN json_valid(${column}) THEN ${column} ->> '$' END`;
  return {
    type: `coalesce(CASE WHEN json_valid(${column}) THEN json_type(${column}) END, 'null')`,
    atom: content,
    number: content,
  };
}

interface Member {
  readonly member: string;
  /** Path below the member. */
  readonly inner?: string;
  /** Values of other types are treated as absent. */
  readonly type?: "object" | "array" | "text";
}

/**
 * SQL for the JSON text of a member of the run's merged payload; NULL if no payload has it. SQLite parses JSON of up
 * to 1,000 levels. Deeper payloads are skipped, because they would make the whole query fail.
 */
function createMemberSql(runAlias: string, { member, inner = "", type }: Member): string {
  const path = `'$.${member}${inner}'`;
  const value = `(${payloadTextSql}) -> ${path}`;
  const selected =
    type === undefined
      ? value
      : `CASE json_type(${payloadTextSql}, ${path}) WHEN '${type}' THEN ${value} END`;
  return `(SELECT ${selected} FROM payloads p WHERE p.trace_id = ${runAlias}.trace_id AND p.id = ${runAlias}.id
    AND CASE WHEN json_valid(${payloadTextSql}) THEN json_type(${payloadTextSql}, '$.${member}') END IS NOT NULL
    ORDER BY p.digest <> '' DESC, p.rowid DESC LIMIT 1)`;
}

const createThreadIdsSql = (metadata: string): string =>
  `(SELECT json_group_array(m.atom) FROM json_each(${metadata}) m
    WHERE m.type = 'text' AND m.key IN (${threadKeys.map((key) => `'${key}'`).join(", ")}))`;

/**
 * SQL for the JSON list of the models that the runs of a run's trace call. Runs of other tenants with the
 * same trace id are left out.
 */
export function createTraceModelsSql(runAlias: string): string {
  const metadata = createMemberSql("t", { member: "extra", inner: ".metadata", type: "object" });
  return `(SELECT json_group_array(DISTINCT m.atom) FROM runs t, json_each(${metadata}) m
    WHERE ${createTraceCallSql(runAlias)} AND m.key = 'ls_model_name' AND m.type = 'text')`;
}

/** SQL for the sum of a measure of the model calls of a run's trace; NULL if none of them has it. */
function createTraceSumSql(runAlias: string, measure: IndexedMeasure): string {
  return `(SELECT sum(${createMeasureColumnSql("t")[measure]}) FROM runs t WHERE ${createTraceCallSql(runAlias)})`;
}

/** SQL for whether a row `t` of `runs` is a model call of a run's trace, of the same tenant. */
const createTraceCallSql = (runAlias: string): string =>
  `t.trace_id = ${runAlias}.trace_id AND ${createModelCallSql("t.run_type")}
      AND (t.project_id = ${runAlias}.project_id OR t.project_id IN (SELECT id FROM projects
        WHERE tenant_id = (SELECT tenant_id FROM projects WHERE id = ${runAlias}.project_id)))`;

/** SQL for the name of the model in the metadata of a model call; NULL for other runs. */
export function createNamedModelSql(runAlias: string): string {
  const name = createMemberSql(runAlias, {
    member: "extra",
    inner: ".metadata.ls_model_name",
    type: "text",
  });
  return `CASE WHEN ${createModelCallSql(`${runAlias}.run_type`)} THEN substr(${name} ->> '$', 1, ${maxModelNameChars}) END`;
}

/**
 * SQL for the model that a run calls: the model whose price applied or, for a call without a price, such as a failed
 * one, the name in its metadata.
 */
export const createCalledModelSql = (runAlias: string): string =>
  `coalesce(${runAlias}.cost_json ->> '$.model', ${createNamedModelSql(runAlias)})`;

/**
 * SQL for the id of the thread that a run belongs to; NULL if it belongs to none. If the metadata has several of the
 * keys, the first one in the order of `threadKeys` counts.
 */
export function createThreadIdSql(runAlias: string): string {
  const metadata = createMemberSql(runAlias, {
    member: "extra",
    inner: ".metadata",
    type: "object",
  });
  const order = threadKeys.map((key, index) => `WHEN '${key}' THEN ${index}`).join(" ");
  return `(SELECT m.atom FROM json_each(${metadata}) m
    WHERE m.type = 'text' AND m.key IN (${threadKeys.map((key) => `'${key}'`).join(", ")})
    ORDER BY CASE m.key ${order} END LIMIT 1)`;
}

/**
 * SQL for the measures of a run: their columns, or, for rows that were stored before these columns existed, the
 * numbers in the payload.
 */
export function createMeasureColumnSql(runAlias: string): Readonly<Record<MeasureName, string>> {
  const roots = {
    outputs: createMemberSql(runAlias, { member: "outputs", type: "object" }),
    metadata: createMemberSql(runAlias, { member: "extra", inner: ".metadata", type: "object" }),
  };
  const createPayloadSql = (name: MeasureName): string =>
    name === "first_token_us"
      ? createFirstTokenSql(createMemberSql(runAlias, { member: "events", type: "array" }))
      : createUsageSql(roots, name);
  return Object.fromEntries(
    measureNames.map((name) => [
      name,
      `CASE ${runAlias}.measured WHEN 0 THEN ${createPayloadSql(name)} ELSE ${runAlias}.${name} END`,
    ]),
  ) as Record<MeasureName, string>;
}

/**
 * SQL for the time of the first token, in microseconds since the Unix epoch. The times of events are ISO 8601 strings
 * or epoch milliseconds.
 */
const createFirstTokenSql = (events: string): string =>
  `(SELECT CASE typeof(v.value ->> '$.time') WHEN 'text'
      THEN CAST(round(unixepoch(v.value ->> '$.time', 'subsec') * 1000) * 1000 AS INTEGER)
      ELSE CAST((v.value ->> '$.time') * 1000 AS INTEGER) END
    FROM json_each(${events}) v WHERE v.type = 'object' AND v.value ->> '$.name' = 'new_token' LIMIT 1)`;

type RootSql = Readonly<Record<"outputs" | "metadata", string>>;

function createUsageSql(roots: RootSql, name: UsageName): string {
  const [prompt, completion] = [
    createFirstReportedSql(roots, "prompt_tokens"),
    createFirstReportedSql(roots, "completion_tokens"),
  ];
  return name === "total_tokens"
    ? `coalesce(${createFirstReportedSql(roots, name)}, ${prompt} + ${completion})`
    : createFirstReportedSql(roots, name);
}

function createFirstReportedSql(roots: RootSql, name: UsageName): string {
  const createNumber = costNames.has(name) ? createNumberSql : createCountSql;
  const values = usageSources.flatMap(({ root, steps, names }) => {
    const path = [...steps, names[name]].map(toPathStep).join("");
    return names[name] === undefined ? [] : [createNumber(roots[root], `$${path}`)];
  });
  return `coalesce(${values.join(", ")})`;
}

const costNames: ReadonlySet<string> = new Set(usageCosts);

const toPathStep = (step: string | number | undefined): string =>
  typeof step === "number" ? `[${step}]` : `.${step}`;

const createNumberSql = (json: string, path: string): string =>
  `(SELECT n.atom FROM json_each(${json}, '${path}') n WHERE n.type IN ('integer', 'real') LIMIT 1)`;

/** Like `toCount`, accepts only a value that can be a number of tokens. */
const createCountSql = (json: string, path: string): string =>
  `(SELECT n.atom FROM json_each(${json}, '${path}') n WHERE n.type IN ('integer', 'real')
    AND n.atom BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} AND n.atom = CAST(n.atom AS INTEGER) LIMIT 1)`;
