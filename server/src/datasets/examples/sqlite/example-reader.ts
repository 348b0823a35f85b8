import { RequestError } from "../../../model/errors.ts";
import { bind, joinConditions } from "../../../filter/sql.ts";
import type { Sql } from "../../../filter/sql.ts";
import { splitsOf } from "../splits.ts";
import type { Moment } from "../../dataset-version.ts";
import type {
  Example,
  ExampleFilter,
  ExamplePageQuery,
  ExamplePreview,
  ExampleQuery,
  ExampleReads,
  ExampleSearch,
} from "../example.ts";
import { throwDamaged, isIntact } from "../../../storage/sqlite/checksum.ts";
import { SqliteDatasetVersions } from "./dataset-versions.ts";
import { splitsSql, toExampleConditions } from "./example-conditions.ts";
import { keysOfId } from "./example-places.ts";
import { parsePreviewRow, previewSelection } from "./example-preview-row.ts";
import { exampleSelection, parseExampleRow } from "./example-row.ts";
import { stagedMicros } from "./example-table.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** The end of a query: order, limit and offset. */
interface QueryTail {
  readonly tail: string;
  readonly values: readonly (string | number)[];
}

function toTail({ order, isDescending, seed, limit, offset }: ExampleQuery): QueryTail {
  const direction = isDescending ? "DESC" : "ASC";
  // Rows of the same version are ordered by creation.
  const orders = {
    recent: `e.from_us ${direction}, e.key`,
    recently_created: `e.created_us ${direction}, e.position`,
    id: `e.id ${direction}`,
    written: `e.position ${direction}`,
    random: "(e.key * 2654435761 + ?) % 4294967291, e.key",
  };
  return {
    tail: `ORDER BY ${orders[order]} LIMIT ? OFFSET ?`,
    values: [...(order === "random" ? [seed] : []), limit, offset],
  };
}

/** Excludes staged rows; see `example-stage.ts`. */
const isPublished = `(to_us IS NULL OR to_us <> ${stagedMicros})`;

/** Queries examples. */
export class ExampleReader implements ExampleReads {
  readonly #db: Connection;
  readonly #ledger: SqliteDatasetVersions;
  readonly #statements;

  constructor(db: Connection) {
    this.#db = db;
    this.#ledger = new SqliteDatasetVersions(db);
    this.#statements = {
      listSources: db
        .prepare(
          `SELECT DISTINCT source_run_id FROM examples INDEXED BY examples_by_source
           WHERE source_run_id IN (SELECT value FROM json_each(?1)) AND to_us IS NULL AND tenant_id = ?2
             AND dataset_id IN (SELECT id FROM datasets WHERE is_ready = 1)`,
        )
        .raw(),
      findDatasetId: db
        .prepare(
          `SELECT dataset_id FROM examples WHERE key IN (${keysOfId("?1")}) AND id = ?1 AND tenant_id = ?2
           AND ${isPublished} ORDER BY from_us DESC LIMIT 1`,
        )
        .raw(),
      // An update keeps the position of an example.
      findPosition: db
        .prepare(
          `SELECT position FROM examples WHERE key IN (${keysOfId("?1")}) AND id = ?1 AND tenant_id = ?2
           AND ${isPublished} ORDER BY from_us DESC LIMIT 1`,
        )
        .raw(),
      findBlob: db
        .prepare("SELECT bytes, checksum, example_id FROM example_blobs WHERE key = ?")
        .raw(),
    };
  }

  find(tenantId: string, id: string, moment: Moment): Example | undefined {
    const filter = { ids: [id], moment };
    return this.#select(tenantId, filter, { tail: "LIMIT 1", values: [] })[0];
  }

  list(tenantId: string, query: ExampleQuery): readonly Example[] {
    return this.#select(tenantId, this.#continueAfter(tenantId, query), toTail(query));
  }

  preview(tenantId: string, query: ExampleQuery, chars: number): readonly ExamplePreview[] {
    const filter = this.#continueAfter(tenantId, query);
    const where = toExampleConditions(tenantId, this.#withoutMoment(tenantId, filter));
    const { tail, values } = toTail(query);
    const rows = this.#db
      .prepare(`${previewSelection} WHERE ${where.sql} ${tail}`)
      .raw()
      .all([chars, chars, chars, ...where.values, ...values]);
    return parseRows(rows).map(parsePreviewRow);
  }

  count(tenantId: string, filter: ExampleFilter): number {
    const { sql, values } = toExampleConditions(tenantId, filter);
    const rows = this.#db
      .prepare(
        `SELECT count(*) FROM examples e JOIN datasets d ON d.id = e.dataset_id AND d.is_ready = 1 WHERE ${sql}`,
      )
      .raw()
      .all([...values]);
    return Number(parseRows(rows)[0]?.[0]);
  }

  page(
    tenantId: string,
    { after, limit, bytesMax, ...filter }: ExamplePageQuery,
  ): readonly Example[] {
    const condition = { sql: "e.position > ?", values: [after] };
    const where = toExampleConditions(
      tenantId,
      this.#withoutMoment(tenantId, { ...filter, condition }),
    );
    // `octet_length` reads only the header of a row, so texts beyond the limit are not read.
    const rows = this.#db
      .prepare(
        `${exampleSelection} WHERE e.key IN (
           SELECT key FROM (
             SELECT key, sum(size) OVER (ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
             FROM (
               SELECT e.key, e.position, octet_length(e.inputs) + coalesce(octet_length(e.outputs), 0) + octet_length(e.metadata) AS size
               FROM examples e WHERE ${where.sql} ORDER BY e.position LIMIT ?))
           WHERE coalesce(before, 0) <= ?) ORDER BY e.position`,
      )
      .raw()
      .all([...where.values, limit, bytesMax]);
    return parseRows(rows).map(parseExampleRow);
  }

  listSources(tenantId: string, runIds: readonly string[]): readonly string[] {
    const rows = parseRows(this.#statements.listSources.all([JSON.stringify(runIds), tenantId]));
    return rows.map(([id]) => String(id));
  }

  findDatasetId(tenantId: string, id: string): string | undefined {
    const [values] = parseRows(this.#statements.findDatasetId.all([id, tenantId]));
    return values === undefined ? undefined : String(values[0]);
  }

  listSplits(tenantId: string, datasetId: string, moment: Moment): readonly string[] {
    const { sql, values } = toExampleConditions(tenantId, { datasetId, moment });
    const rows = this.#db
      .prepare(`SELECT DISTINCT ${splitsSql} FROM examples e WHERE ${sql}`)
      .raw()
      .all([...values]);
    const names = parseRows(rows).flatMap(([list]) =>
      splitsOf(`{"dataset_split":${String(list)}}`),
    );
    return [...new Set(names)].toSorted();
  }

  search(
    tenantId: string,
    { datasetId, words, condition, limit }: ExampleSearch,
  ): readonly Example[] {
    const dataset = this.#ledger.find(tenantId, datasetId);
    if (dataset?.index === undefined || dataset.index === null) {
      throw new RequestError(
        400,
        `the dataset is not indexed: POST /datasets/${datasetId}/index first`,
      );
    }
    const { micros: moment } = dataset.index;
    const filter = { datasetId, moment, ...(condition === undefined ? {} : { condition }) };
    const found = words.length === 0 ? [] : this.#match(tenantId, filter, { words, limit });
    // Matches the LangSmith API where nothing is similar: it returns some examples, here the newest.
    return found.length > 0
      ? found
      : this.list(tenantId, {
          filter,
          order: "recent",
          isDescending: true,
          seed: 0,
          limit,
          offset: 0,
        });
  }

  findBlob(blob: number): Uint8Array | undefined {
    const [[bytes, checksum, exampleId] = []] = parseRows(this.#statements.findBlob.all([blob]));
    if (!(bytes instanceof Uint8Array)) {
      return undefined;
    }
    const id = String(exampleId);
    return isIntact(checksum, bytes, id) ? bytes : throwDamaged(`a file of example ${id}`);
  }

  /**
   * Adds a condition on the position of `after`: every page of the list costs the same, and concurrent writes do not
   * shift it.
   */
  #continueAfter(
    tenantId: string,
    { filter, order, isDescending, after }: ExampleQuery,
  ): ExampleFilter {
    if (order !== "written" || after === undefined) {
      return filter;
    }
    const [values] = parseRows(this.#statements.findPosition.all([after, tenantId]));
    if (values === undefined) {
      throw new RequestError(
        404,
        "after must be the id of an example of the dataset; restart the list without it",
      );
    }
    const position = bind(Number(values[0]));
    const isAfter: Sql = {
      sql: `e.position ${isDescending ? "<" : ">"} ${position.sql}`,
      values: position.values,
    };
    const { condition } = filter;
    return {
      ...filter,
      condition: condition === undefined ? isAfter : joinConditions([condition, isAfter], "AND"),
    };
  }

  #match(
    tenantId: string,
    filter: ExampleFilter,
    { words, limit }: Pick<ExampleSearch, "words" | "limit">,
  ): readonly Example[] {
    const { sql, values } = toExampleConditions(tenantId, filter);
    // Words contain only letters and digits, so in quotes they can't be operators.
    const query = words.map((word) => `"${word}"`).join(" OR ");
    const rows = this.#db
      .prepare(
        `${exampleSelection} JOIN example_texts t ON t.rowid = e.key
         WHERE t.text MATCH ? AND ${sql} ORDER BY bm25(example_texts), e.position LIMIT ?`,
      )
      .raw()
      .all([query, ...values, limit]);
    return parseRows(rows).map(parseExampleRow);
  }

  #select(
    tenantId: string,
    filter: ExampleFilter,
    { tail, values }: QueryTail,
  ): readonly Example[] {
    const where = toExampleConditions(tenantId, this.#withoutMoment(tenantId, filter));
    const rows = this.#db
      .prepare(`${exampleSelection} WHERE ${where.sql} ${tail}`)
      .raw()
      .all([...where.values, ...values]);
    return parseRows(rows).map(parseExampleRow);
  }

  /** A time at or after the newest version means now, and current rows have a faster index. */
  #withoutMoment(tenantId: string, filter: ExampleFilter): ExampleFilter {
    const { datasetId, moment } = filter;
    const newest =
      datasetId === undefined || moment === null
        ? undefined
        : this.#ledger.find(tenantId, datasetId)?.versionMicros;
    const isCurrent =
      newest !== undefined && newest !== null && moment !== null && moment >= newest;
    return isCurrent ? { ...filter, moment: null } : filter;
  }
}
