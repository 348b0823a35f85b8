import { threadKeys } from "millrace/model";
import type { FilterSource } from "../../filter/compiler.ts";
import { createJsonValueSql, postgresFilterSql } from "../../filter/postgres-filter-sql.ts";
import { joinConditions, sql } from "../../filter/sql.ts";
import type { Sql } from "../../filter/sql.ts";
import { lowerAscii } from "../search-texts.ts";
import { encodeText } from "../../storage/postgres/text-encoding.ts";
import { createPayloadTextSql } from "../shared-texts/postgres-shared-texts.ts";
import { measureNames } from "../usage/measures.ts";
import type { IndexedMeasure } from "../tables/run-measure-tables.ts";
import { createModelCallSql, maxModelNameChars } from "../usage/run-cost.ts";

/**
 * Returns the SQL expressions for the fields of a run: columns of `runs` under an alias, and members of the run's
 * payloads. If several payloads have a member, the latest patch wins; the payload of the post is used only if no patch
 * has the member.
 */
export const selectRunSource = (runAlias: "r" | "q"): FilterSource =>
  (sources[runAlias] ??= createSource(runAlias));

const sources: { r?: FilterSource; q?: FilterSource } = {};

function createSource(runAlias: string): FilterSource {
  const metadata = createMemberSql(runAlias, "extra", { inner: "metadata", type: "object" });
  const inputs = createMemberSql(runAlias, "inputs", { type: "object" });
  const outputs = createMemberSql(runAlias, "outputs", { type: "object" });
  const tags = createMemberSql(runAlias, "tags", { type: "array" });
  const error = `(${createMemberSql(runAlias, "error")} #>> '{}')`;
  return {
    language: postgresFilterSql,
    columns: {
      id: `${runAlias}.id`,
      trace_id: `${runAlias}.trace_id`,
      parent_run_id: `${runAlias}.parent_run_id`,
      session_id: `${runAlias}.project_id`,
      reference_example_id: `${runAlias}.reference_example_id`,
      name: `${runAlias}.name`,
      run_type: `${runAlias}.run_type`,
      status: `(CASE WHEN ${runAlias}.has_error = 1 THEN 'error' WHEN ${runAlias}.end_us IS NULL THEN 'pending' ELSE 'success' END)`,
      error,
      start_time: `${runAlias}.start_us`,
      end_time: `${runAlias}.end_us`,
      first_token_time: `${runAlias}.first_token_us`,
      latency: `(${runAlias}.end_us - ${runAlias}.start_us)`,
      first_token: `(${runAlias}.first_token_us - ${runAlias}.start_us)`,
      execution_order: `(CASE WHEN ${runAlias}.parent_run_id IS NULL THEN 1 ELSE 2 END)`,
      ...Object.fromEntries(
        measureNames
          .filter((name) => name !== "first_token_us")
          .map((name) => [name, `${runAlias}.${name}`]),
      ),
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
      // The subquery keeps PostgreSQL from joining all feedback of the tenant: it finds the run's few rows by its id.
      from: `(SELECT * FROM feedback f WHERE f.run_id = ${runAlias}.id AND f.tenant_id = ${runAlias}.tenant_id OFFSET 0) f`,
      where: "true",
      key: `((${createReadableJsonSql("f.key_json")} #>> '{}') COLLATE "C")`,
      values: {
        feedback_score: {
          type: "(CASE WHEN f.score IS NULL THEN 'null' ELSE 'real' END)",
          atom: "NULL::text",
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
    createIndexCondition: (texts) => createPayloadCondition(runAlias, texts),
  };
}

/**
 * Matches characters that may be escaped or replaced in stored JSON, and those that JSON contains between two texts.
 */
const changingCharactersPattern = /[\p{Cc}\p{Surrogate}\uFFFD-\uFFFF"\\/{}[\]:,]+/u;

/** Minimum number of characters of a text for which payloads are searched. */
const minSearchedChars = 3;

/**
 * Returns a condition that holds for every run with these texts: its name or the JSON text of a payload contains each
 * of them, or a payload has an escape such as `\u0041`, which may stand for any character. Searching stored JSON for a
 * text takes a tenth of the time of parsing the JSON.
 */
function createPayloadCondition(runAlias: string, texts: readonly string[]): Sql | undefined {
  const parts = texts
    .flatMap((text) => text.split(changingCharactersPattern))
    .filter((part) => part.length >= minSearchedChars)
    .map((part): Sql => ({ sql: "?::text", values: [encodeText(lowerAscii(part))] }));
  if (parts.length === 0) {
    return undefined;
  }
  const contains = (column: string): Sql =>
    joinConditions(
      parts.map((part) => sql`strpos(lower(${column} COLLATE "C"), ${part}) > 0`),
      "AND",
    );
  // OFFSET 0 keeps PostgreSQL from reading all payloads once instead of those of each run.
  return sql`(${contains(`${runAlias}.name`)} OR EXISTS (SELECT 1
    FROM (SELECT ${createPayloadTextSql("p")} AS json FROM payloads p WHERE p.tenant_id = ${runAlias}.tenant_id
      AND p.root_us = ${runAlias}.root_us AND p.trace_id = ${runAlias}.trace_id AND p.id = ${runAlias}.id OFFSET 0) j
    WHERE strpos(j.json, '\\u') > 0 OR ${contains("j.json")}))`;
}

/**
 * SQL that reads JSON that was stored with another resource, such as feedback. It may have escapes that `jsonb` can't
 * hold.
 */
const createReadableJsonSql = (column: string): string => `run_document(NULL, ${column})`;

const createJsonColumn = (column: string): ReturnType<typeof createJsonValueSql> => {
  const { type, ...content } = createJsonValueSql(createReadableJsonSql(column));
  return { type: `coalesce(${type}, 'null')`, ...content };
};

/** SQL for a member of the run's merged payload as `jsonb`; NULL if no payload has it. */
function createMemberSql(
  runAlias: string,
  member: string,
  { inner, type }: { readonly inner?: string; readonly type?: "object" | "array" } = {},
): string {
  const value = inner === undefined ? "d.json -> p.member" : `d.json -> p.member -> '${inner}'`;
  const selected =
    type === undefined ? value : `CASE jsonb_typeof(${value}) WHEN '${type}' THEN ${value} END`;
  return `(SELECT ${selected}
    FROM (SELECT tenant_id, document, body, parts, digest, seq, '${member}'::text AS member FROM payloads
      WHERE tenant_id = ${runAlias}.tenant_id AND root_us = ${runAlias}.root_us AND trace_id = ${runAlias}.trace_id AND id = ${runAlias}.id
      OFFSET 0) p
    CROSS JOIN LATERAL (SELECT run_document(p.document, ${createPayloadTextSql("p")}) AS json OFFSET 0) d
    WHERE jsonb_exists(d.json, p.member) ORDER BY p.digest <> '' DESC, p.seq DESC LIMIT 1)`;
}

const threadKeyList = threadKeys.map((key) => `'${key}'`).join(", ");

const createThreadIdsSql = (metadata: string): string =>
  `(SELECT jsonb_agg(m.value) FROM jsonb_each(${metadata}) m
    WHERE jsonb_typeof(m.value) = 'string' AND m.key IN (${threadKeyList}))`;

/** SQL for the list of the models that the runs of a run's trace call, as `jsonb`; NULL if they call none. */
export function createTraceModelsSql(runAlias: string): string {
  const metadata = createMemberSql("t", "extra", { inner: "metadata", type: "object" });
  return `(SELECT jsonb_agg(DISTINCT m.model) FROM runs t
    CROSS JOIN LATERAL (SELECT ${metadata} -> 'ls_model_name' AS model OFFSET 0) m
    WHERE ${createTraceCallSql(runAlias)} AND jsonb_typeof(m.model) = 'string')`;
}

/** SQL that sums a measure over all model calls in a run's trace; NULL if no call has the measure. */
const createTraceSumSql = (runAlias: string, measure: IndexedMeasure): string =>
  `(SELECT sum(t.${measure}) FROM runs t WHERE ${createTraceCallSql(runAlias)})`;

/** SQL for whether a row `t` of `runs` is a model call of a run's trace. */
const createTraceCallSql = (runAlias: string): string =>
  `t.tenant_id = ${runAlias}.tenant_id AND t.trace_id = ${runAlias}.trace_id AND ${createModelCallSql("t.run_type")}`;

/** SQL for the name of the model in the metadata of a model call; NULL for other runs. */
export function createNamedModelSql(runAlias: string): string {
  const metadata = createMemberSql(runAlias, "extra", { inner: "metadata", type: "object" });
  return `CASE WHEN ${createModelCallSql(`${runAlias}.run_type`)} THEN (SELECT left(m.model #>> '{}', ${maxModelNameChars})
    FROM (SELECT ${metadata} -> 'ls_model_name' AS model OFFSET 0) m WHERE jsonb_typeof(m.model) = 'string') END`;
}

/** Like {@link createNamedModelSql}, but NULL for runs with a `cost_json`, which contains the name of the model. */
export const createUnpricedModelSql = (runAlias: string): string =>
  `CASE WHEN ${runAlias}.cost_json IS NULL THEN ${createNamedModelSql(runAlias)} END`;

/**
 * SQL for the id of the thread that a run belongs to; NULL if it belongs to none. If the metadata has several of the
 * keys, the first one in the order of `threadKeys` counts.
 */
export function createThreadIdSql(runAlias: string): string {
  const metadata = createMemberSql(runAlias, "extra", { inner: "metadata", type: "object" });
  const order = threadKeys.map((key, index) => `WHEN '${key}' THEN ${index}`).join(" ");
  return `(SELECT m.value #>> '{}' FROM jsonb_each(${metadata}) m
    WHERE jsonb_typeof(m.value) = 'string' AND m.key IN (${threadKeyList})
    ORDER BY CASE m.key ${order} END LIMIT 1)`;
}
