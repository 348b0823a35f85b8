import type { ValueKind } from "millrace/model";
import type { SuggestionQuery } from "../run-list.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Maximum number of values that one query looks up in the index. */
const maxLookups = 2_000;

/**
 * Returns suggestions for a filter, sorted and distinct. Each step looks up the next distinct value in the index, so
 * the number of rows with the same value does not matter. Values that an update of a run has replaced may be included.
 */
export function readSuggestions(
  db: Connection,
  tenantId: string,
  query: SuggestionQuery,
): readonly string[] {
  const { projectId, limit } = query;
  const projectRows = parseRows(
    db
      .prepareRaw("SELECT 1 FROM projects WHERE id = ? AND tenant_id = ?")
      .all([projectId, tenantId]),
  );
  if (projectRows.length === 0) {
    return [];
  }
  if (query.kind === "feedback_key") {
    return readFeedbackKeys(db, tenantId, query);
  }
  const facetPrefix = createFacetPrefix(query);
  const rows = db
    .prepareRaw(
      `WITH RECURSIVE w (facet, n) AS (
         SELECT (SELECT min(facet) FROM run_facets WHERE project_id = ?1 AND facet >= ?2 AND facet < ?3), 1
         UNION ALL
         SELECT (SELECT min(facet) FROM run_facets WHERE project_id = ?1 AND facet > w.facet AND facet < ?3), n + 1
         FROM w WHERE w.facet IS NOT NULL AND n < ?4
       ) SELECT facet FROM w WHERE facet IS NOT NULL`,
    )
    .all([
      projectId,
      facetPrefix + query.prefix,
      facetPrefix + query.prefix + highestCharacter,
      Math.min(limit, maxLookups),
    ]);
  return parseRows(rows).map(([facet]) => String(facet).slice(facetPrefix.length));
}

/** Appended to a prefix, this character makes a text that sorts after every text with that prefix. */
const highestCharacter = "\u{10ffff}";

const facetPrefixes: {
  readonly [Kind in Exclude<ValueKind, "feedback_key" | "metadata_value">]: string;
} = {
  name: "n",
  run_type: "y",
  tag: "t",
  metadata_key: "k",
};

/** Returns the beginning of all facets of this kind; see `facets.ts`. */
function createFacetPrefix({ kind, key = "" }: SuggestionQuery): string {
  if (kind === "metadata_value") {
    return `p${key.length}:${key}=`;
  }
  return kind === "feedback_key" ? "" : facetPrefixes[kind];
}

function readFeedbackKeys(db: Connection, tenantId: string, { prefix, limit }: SuggestionQuery) {
  const rows = db
    .prepareRaw(
      `WITH RECURSIVE w (key_json, n) AS (
         SELECT (SELECT min(key_json) FROM feedback WHERE tenant_id = ?1 AND run_id IS NOT NULL), 1
         UNION ALL
         SELECT (SELECT min(key_json) FROM feedback WHERE tenant_id = ?1 AND run_id IS NOT NULL AND key_json > w.key_json), n + 1
         FROM w WHERE w.key_json IS NOT NULL AND n < ${maxLookups}
       ) SELECT key_json FROM w WHERE key_json IS NOT NULL`,
    )
    .all([tenantId]);
  return parseRows(rows)
    .map(([json]) => String(JSON.parse(String(json))))
    .filter((key) => key.startsWith(prefix))
    .slice(0, limit);
}
