import { parseRows, textOf } from "../../src/storage/sqlite/rows.ts";

import type { Connection } from "../../src/storage/sqlite/connection.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Reads a complete text column: the driver returns a text only up to its first NUL. */
const whole = (column: string): string => `CAST(${column} AS BLOB)`;

const rowsOf = (db: Connection, sql: string): readonly (readonly unknown[])[] =>
  parseRows(db.prepare(sql).raw().all());

/** Names of projects to compare instead of their ids, which are random. */
const projectNames = (db: Connection): ReadonlyMap<string, string> =>
  new Map(
    rowsOf(db, "SELECT id, tenant_id, name_json FROM projects").map(([id, tenantId, name]) => [
      String(id),
      `${String(tenantId)}/${String(name)}`,
    ]),
  );

/** The facet index as text, one line per row. */
export function facetIndex(db: Connection): string[] {
  const names = projectNames(db);
  return rowsOf(db, `SELECT project_id, block, ${whole("facet")} FROM run_facets`)
    .map(([id, block, facet]) => `${names.get(String(id))} ${Number(block)} ${textOf(facet)}`)
    .toSorted();
}

/**
 * The facets that the index lacks, computed from the stored runs and payloads; a filter would not find these runs.
 */
export function missingFacets(db: Connection): string[] {
  const index = new Set(facetIndex(db));
  const names = projectNames(db);
  const members = membersByRun(db);
  const runs = rowsOf(
    db,
    `SELECT id, project_id, start_us, ${whole("name")}, ${whole("run_type")} FROM runs`,
  );
  return runs.flatMap(([id, projectId, startMicros, name, runType]) => {
    const place = `${names.get(String(projectId))} ${Math.floor(Number(startMicros) / 100_000)}`;
    const facets = facetsOf({ name: textOf(name), run_type: textOf(runType) }, members(String(id)));
    return index.has(`${place} *`)
      ? []
      : facets.map((facet) => `${place} ${wellFormed(facet)}`).filter((line) => !index.has(line));
  });
}

/** The merged payload of a run. */
function membersByRun(db: Connection): (id: string) => JsonObject {
  const found = new Map<string, JsonObject>();
  const payloads = rowsOf(db, "SELECT id, body FROM payloads ORDER BY digest <> '', rowid");
  for (const [id, body] of payloads) {
    const own = toObject(JSON.parse(String(body)));
    found.set(String(id), { ...found.get(String(id)), ...own });
  }
  return (id) => found.get(id) ?? {};
}

/**
 * The facets according to docs/filter-language.md: a run's name and type, its tags, and the keys and texts of its
 * metadata.
 */
function facetsOf(row: { name: string; run_type: string }, { tags, extra }: JsonObject): string[] {
  const facets = [["n", row.name] as const, ["y", row.run_type] as const].flatMap(tell);
  facets.push(...textsIn(tags).flatMap((tag) => tell(["t", tag])));
  for (const [key, value] of Object.entries(toObject(toObject(extra)["metadata"]))) {
    const texts = typeof value === "string" ? [value] : textsIn(value);
    const head = `p${key.length}:${key}=`;
    const pairs = isShort(key) ? texts.flatMap((text) => tell([head, text])) : [];
    facets.push(...tell(["k", key]), ...pairs);
  }
  return facets;
}

const isShort = (text: string): boolean => text.length <= 200;

const tell = ([head, text]: readonly [string, string]): string[] =>
  isShort(text) ? [head + text] : [];

/** The text as SQLite stores it, which can't contain lone surrogates. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

const textsIn = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap((item: unknown) => (typeof item === "string" ? [item] : textsIn(item)))
    : [];

const toObject = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
