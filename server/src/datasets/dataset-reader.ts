import { differences } from "./dataset.ts";
import type {
  Dataset,
  DatasetDiff,
  DatasetQuery,
  DatasetReads,
  DiffPageQuery,
  VersionQuery,
} from "./dataset.ts";
import type { AsOf, DatasetVersion, Moment } from "./dataset-version.ts";
import { hasMetadata } from "../projects/project.ts";
import { DatasetVersionTable } from "./dataset-version-table.ts";
import { datasetSelection, parseDatasetRow } from "./dataset-row.ts";
import { keysOfId } from "./examples/sqlite/example-places.ts";
import { withinDeadline } from "../storage/sqlite/query-clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { digestToken } from "../storage/share-token.ts";

const orderColumns = {
  name: "d.name_json",
  created_at: "d.created_us",
  last_session_start_time: "last_session_us",
  example_count: "d.example_count",
  session_count: "session_count",
  modified_at: "d.modified_us",
} as const;

/** Queries datasets and their versions. */
export class DatasetReader implements DatasetReads {
  readonly #db: Connection;
  readonly #ledger: DatasetVersionTable;
  readonly #statements;

  constructor(db: Connection) {
    this.#db = db;
    this.#ledger = new DatasetVersionTable(db);
    const exampleRows = `examples WHERE key IN (${keysOfId("?4")}) AND id = ?4 AND +dataset_id = ?1`;
    this.#statements = {
      findShared: db.prepare(`${datasetSelection} AND d.share_digest = ? GROUP BY d.id`).raw(),
      listVersions: db
        .prepare(
          `SELECT v.at_us FROM dataset_versions v WHERE v.dataset_id = ?1
           AND (?2 IS NULL OR v.at_us IN (SELECT t.at_us FROM dataset_tags t WHERE t.dataset_id = ?1
             AND instr(lower(t.tag_json), lower(?2)) > 0) OR (?3 = v.at_us))
           AND (?4 IS NULL OR v.at_us IN (SELECT from_us FROM ${exampleRows} UNION SELECT to_us FROM ${exampleRows}))
           ORDER BY v.at_us DESC LIMIT ?5 OFFSET ?6`,
        )
        .raw(),
      diff: db
        .prepare(
          `SELECT id, max(from_us <= ?2 AND (to_us IS NULL OR to_us > ?2)) AS was_present,
             max(from_us <= ?3 AND (to_us IS NULL OR to_us > ?3)) AS is_present,
             max(from_us <= ?2 AND (to_us IS NULL OR to_us > ?2) AND from_us <= ?3 AND (to_us IS NULL OR to_us > ?3)) AS same
           FROM examples WHERE dataset_id = ?1 AND ${withinDeadline("key")} GROUP BY id HAVING same = 0 AND was_present + is_present > 0 ORDER BY min(position)`,
        )
        .raw(),
    };
  }

  find(tenantId: string, id: string): Dataset | undefined {
    return this.#ledger.find(tenantId, id);
  }

  findShared(token: string): Dataset | undefined {
    const [values] = parseRows(this.#statements.findShared.all([digestToken(token)]));
    return values === undefined ? undefined : parseDatasetRow(values);
  }

  /** Metadata is compared in JavaScript, not in SQL: as values, regardless of the order of members. */
  list(tenantId: string, query: DatasetQuery): readonly Dataset[] {
    const { metadata, limit, offset, order, isDescending } = query;
    const direction = isDescending ? "DESC" : "ASC";
    const rows = this.#db
      .prepare(
        `${datasetSelection} AND d.tenant_id = ?1 AND (?2 IS NULL OR d.name_json = ?2)
         AND (?3 IS NULL OR instr(lower(d.name_json), lower(?3)) > 0)
         AND (?4 IS NULL OR d.id IN (SELECT value FROM json_each(?4)))
         AND (?5 IS NULL OR d.body ->> '$.dataType' IN (SELECT value FROM json_each(?5)))
         GROUP BY d.id ORDER BY ${orderColumns[order]} ${direction} NULLS LAST, d.created_us DESC, d.id
         LIMIT ?6 OFFSET ?7`,
      )
      .raw()
      .all([
        tenantId,
        query.name === undefined ? null : JSON.stringify(query.name),
        query.nameContains === undefined ? null : JSON.stringify(query.nameContains).slice(1, -1),
        query.ids === undefined ? null : JSON.stringify(query.ids),
        query.dataTypes === undefined ? null : JSON.stringify(query.dataTypes),
        metadata === undefined ? limit : -1,
        metadata === undefined ? offset : 0,
      ]);
    const datasets = parseRows(rows).map(parseDatasetRow);
    return metadata === undefined
      ? datasets
      : datasets.filter((dataset) => hasMetadata(dataset, metadata)).slice(offset, offset + limit);
  }

  findVersion(tenantId: string, id: string, asOf: AsOf): DatasetVersion | undefined {
    const dataset = this.#ledger.find(tenantId, id);
    return dataset === undefined ? undefined : this.#ledger.findVersion(dataset, asOf);
  }

  listVersions(tenantId: string, id: string, query: VersionQuery): readonly DatasetVersion[] {
    const dataset = this.#ledger.find(tenantId, id);
    if (dataset === undefined) {
      return [];
    }
    const { search, exampleId, limit, offset } = query;
    const matchesLatest = search !== undefined && "latest".includes(search.toLowerCase());
    const rows = this.#statements.listVersions.all([
      id,
      search === undefined ? null : JSON.stringify(search).slice(1, -1),
      matchesLatest ? dataset.versionMicros : null,
      exampleId ?? null,
      limit,
      offset,
    ]);
    return parseRows(rows).map(([at]) => {
      const micros = Number(at);
      return { micros, tags: this.#ledger.tagsAt(dataset, micros) };
    });
  }

  diff(tenantId: string, id: string, { from, to }: { from: Moment; to: Moment }): DatasetDiff {
    const diff = { added: [] as string[], modified: [] as string[], removed: [] as string[] };
    const dataset = this.#ledger.find(tenantId, id);
    const latest = dataset?.versionMicros ?? 0;
    const rows =
      dataset === undefined ? [] : this.#statements.diff.all([id, from ?? latest, to ?? latest]);
    for (const [exampleId, wasPresent, isPresent] of parseRows(rows)) {
      if (wasPresent === 0) {
        diff.added.push(String(exampleId));
      } else {
        (isPresent === 0 ? diff.removed : diff.modified).push(String(exampleId));
      }
    }
    return diff;
  }

  diffPage(tenantId: string, id: string, { kind, limit, offset, ...moments }: DiffPageQuery) {
    const diff = this.diff(tenantId, id, moments);
    const kinds = kind === undefined ? differences : [kind];
    return {
      counts: {
        removed: diff.removed.length,
        modified: diff.modified.length,
        added: diff.added.length,
      },
      changes: kinds
        .flatMap((each) => diff[each].map((exampleId) => ({ id: exampleId, kind: each })))
        .slice(offset, offset + limit),
    };
  }
}
