import type { Comparative, ComparativeQuery, ComparativeReads } from "./comparative.ts";
import { comparativeSelection, parseComparativeRow } from "./comparative-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

const columns = { name: "c.name_json", created_at: "c.created_us" } as const;

/** Queries comparative experiments. */
export class ComparativeReader implements ComparativeReads {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  list(tenantId: string, query: ComparativeQuery): readonly Comparative[] {
    const { datasetId, ids, name, nameContains, limit, offset } = query;
    const direction = query.isDescending ? "DESC" : "ASC";
    const rows = this.#db
      .prepare(
        `${comparativeSelection} WHERE c.dataset_id = ?2 AND c.tenant_id = ?1
           AND (?3 IS NULL OR c.id IN (SELECT value FROM json_each(?3)))
           AND (?4 IS NULL OR c.name_json = ?4) AND (?5 IS NULL OR instr(lower(c.name_json), lower(?5)) > 0)
         ORDER BY ${columns[query.sortBy]} ${direction}, c.id ${direction} LIMIT ?6 OFFSET ?7`,
      )
      .raw()
      .all([
        tenantId,
        datasetId,
        ids === undefined ? null : JSON.stringify(ids),
        name === undefined ? null : JSON.stringify(name),
        nameContains === undefined ? null : JSON.stringify(nameContains).slice(1, -1),
        limit,
        offset,
      ]);
    return parseRows(rows).map(parseComparativeRow);
  }
}
