import type { Comparative, ComparisonQuery, ComparativeReads } from "./comparative.ts";
import { parseComparativeRow, selectComparatives } from "./comparative-queries.ts";
import { containsIgnoringCase, escapeJsonPart, isInList } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

const sortColumns = { name: "c.name_json", created_at: "c.created_us" } as const;

/** Queries stored comparisons between experiments. */
export class ComparativeReader implements ComparativeReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(tenantId: string, query: ComparisonQuery): Promise<readonly Comparative[]> {
    return (await this.#db.all(buildList(tenantId, query))).map(parseComparativeRow);
  }
}

function buildList(tenantId: string, query: ComparisonQuery) {
  const { datasetId, ids, name, nameContains, sortBy, isDescending } = query;
  let list = selectComparatives(tenantId).where("c.dataset_id", "=", datasetId);
  if (ids !== undefined) {
    list = list.where((eb) => isInList(eb.ref("c.id"), ids));
  }
  if (name !== undefined) {
    list = list.where("c.name_json", "=", JSON.stringify(name));
  }
  if (nameContains !== undefined) {
    const part = escapeJsonPart(nameContains);
    list = list.where((eb) => containsIgnoringCase(eb.ref("c.name_json"), part));
  }
  // Specify where comparisons without a name are sorted, because the default differs between the database engines.
  return list
    .orderBy(sortColumns[sortBy], (order) =>
      isDescending ? order.desc().nullsLast() : order.asc().nullsFirst(),
    )
    .orderBy("c.id", isDescending ? "desc" : "asc")
    .limit(query.limit)
    .offset(query.offset);
}
