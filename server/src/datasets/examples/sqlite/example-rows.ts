import type { FileOwner } from "../example-engine.ts";
import { toMimeType } from "../../../bodies/part-head.ts";
import { changedChecksumSql, computeChecksumChange } from "../../../storage/sqlite/checksum.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import { prepareQuery } from "../../../storage/sqlite/sqlite-database.ts";
import type { TenantKeyWriter } from "../../../storage/sqlite/tenant-keys.ts";
import type { Attachment, AttachmentDraft, ExampleDraft } from "../example.ts";
import { exampleQueries } from "../example-queries.ts";
import {
  createMissingFileError,
  compareWithStored,
  parseCurrentRow,
  toAttachment,
  toExampleColumns,
  toCurrentExamples,
  toFileColumns,
} from "../example-rows.ts";
import type { CurrentExample, NewExampleRow } from "../example-rows.ts";
import { ExampleIdIndex } from "./example-places.ts";

/** A row with the content that an example has in one or more consecutive versions of its dataset. */
export interface ExampleVersionRow {
  readonly id: string;
  readonly key: number;
  readonly datasetId: string;
  /** Whether the row belongs to the newest version of its dataset. */
  readonly isCurrent: boolean;
}

/**
 * The counterpart of `ExampleRows` for long writes, whose slices are synchronous. It runs the same queries, and assigns
 * the keys of new rows for both kinds of writes.
 */
export class SqliteExampleRows {
  readonly #tenantKeys: TenantKeyWriter;
  readonly #queries;
  readonly #statements;
  readonly #idIndex: ExampleIdIndex;
  /** The last key that was assigned; `undefined` until the first use. Keys are not reused, even after a rollback. */
  #lastKey: number | undefined;
  /** Key of the last row that {@link SqliteExampleRows.indexNewIds} has indexed. */
  #lastIndexedKey = 0;

  constructor(db: Connection, tenantKeys: TenantKeyWriter) {
    this.#tenantKeys = tenantKeys;
    this.#idIndex = new ExampleIdIndex(db);
    this.#queries = {
      insert: prepareQuery(db, exampleQueries.insert),
      endAll: prepareQuery(db, exampleQueries.endAll),
      insertFile: prepareQuery(db, exampleQueries.insertFile),
      findFile: prepareQuery(db, exampleQueries.findFile),
      findCurrent: prepareQuery(db, exampleQueries.findCurrent),
      listCurrent: prepareQuery(db, exampleQueries.listCurrent),
      findRows: prepareQuery(db, exampleQueries.findRows),
      listKeys: prepareQuery(db, exampleQueries.listKeys),
      erase: prepareQuery(db, exampleQueries.erase),
      eraseFiles: prepareQuery(db, exampleQueries.eraseFiles),
    };
    this.#statements = {
      lastKey: db.prepare("SELECT max(key) FROM examples").raw(),
      copyRunFile: db.prepare(
        `INSERT INTO example_blobs (tenant_id, dataset_id, example_id, bytes, checksum)
         SELECT ?1, ?2, ?3, bytes, ${changedChecksumSql("?6")} FROM ${selectRunFile("?1", "?4", "?5")}`,
      ),
      findRunFile: db.prepare(`SELECT content_type FROM ${selectRunFile("?1", "?2", "?3")}`).raw(),
    };
  }

  /** The last key that was assigned to a row. */
  get lastKey(): number {
    if (this.#lastKey === undefined) {
      this.#lastKey = Number(parseRows(this.#statements.lastKey.all())[0]?.[0] ?? 0);
      this.#lastIndexedKey = this.#lastKey;
    }
    return this.#lastKey;
  }

  /** Assigns consecutive keys to new rows, and returns the first key. */
  assignKeys(count: number): number {
    const firstKey = this.lastKey + 1;
    this.#lastKey = this.lastKey + count;
    return firstKey;
  }

  /**
   * Inserts a row and returns its key. Queries find the row by its id only after {@link SqliteExampleRows.indexNewIds}
   * was called.
   */
  insert(row: NewExampleRow): number {
    const key = this.assignKeys(1);
    this.#queries.insert.run(toExampleColumns(row, key));
    return key;
  }

  /** Adds to the index of example ids all rows that were inserted since this method was last called. */
  indexNewIds(): void {
    const lastKey = this.#lastKey ?? 0;
    if (lastKey > this.#lastIndexedKey) {
      this.#idIndex.add(this.#lastIndexedKey, lastKey);
      this.#lastIndexedKey = lastKey;
    }
  }

  /** Ends the validity of rows: the version with the time `micros` and later versions do not contain them. */
  endAll(keys: readonly number[], micros: number): void {
    this.#queries.endAll.run({ keys: JSON.stringify(keys), micros });
  }

  /** Finds examples by their ids, in the newest version of their datasets. The result has the order of the ids. */
  findCurrent(tenantId: string, ids: readonly string[]): Map<string, CurrentExample> {
    if (ids.length === 0) {
      return new Map();
    }
    const rows = this.#queries.findCurrent.all({ tenantId, ids: JSON.stringify(ids) });
    return toCurrentExamples(rows, ids);
  }

  /** Yields the examples in the newest version of a dataset, in groups of `groupSize`. */
  *listCurrent(datasetId: string, groupSize: number): Generator<readonly CurrentExample[]> {
    for (let after = 0, hasMore = true; hasMore;) {
      const rows = this.#queries.listCurrent.all({ datasetId, after, limit: groupSize });
      yield rows.map(parseCurrentRow);
      after = rows.at(-1)?.position ?? after;
      hasMore = rows.length === groupSize;
    }
  }

  /** Finds the rows of all versions of these examples. */
  findRows(tenantId: string, ids: readonly string[]): ExampleVersionRow[] {
    const rows = this.#queries.findRows.all({ tenantId, ids: JSON.stringify(ids) });
    return rows.map((row) => ({
      id: row.id,
      key: row.key,
      datasetId: row.dataset_id,
      isCurrent: row.is_current === 1,
    }));
  }

  /** Lists the keys of up to `limit` rows of a dataset, of any version. */
  listKeys(datasetId: string, limit: number): number[] {
    return this.#queries.listKeys.all({ datasetId, limit }).map(({ key }) => key);
  }

  /**
   * Erases rows, and all attachments of the examples in these rows. If a dataset is passed, erases only the attachments
   * in this dataset. The caller must also erase all other rows of these examples there, because the versions of an
   * example share its attachments.
   */
  erase(rowKeys: readonly number[], datasetId: string | null = null): void {
    const keys = JSON.stringify(rowKeys);
    this.#queries.eraseFiles.run({ keys, datasetId });
    this.#queries.erase.run({ keys });
  }

  /** Stores an attachment of an example. */
  attach(owner: FileOwner, file: AttachmentDraft): Attachment {
    const [inserted] = this.#queries.insertFile.all(toFileColumns(owner, file));
    return toAttachment(file, inserted);
  }

  /** Copies an attachment from a run to an example. Returns `undefined` if the run has no attachment of that name. */
  copyRunFile(
    { tenantId, datasetId, id }: FileOwner,
    runKey: string,
    name: string,
  ): Attachment | undefined {
    const [file] = parseRows(this.#statements.findRunFile.all([tenantId, runKey, name]));
    if (file === undefined) {
      return undefined;
    }
    const checksumChange = computeChecksumChange([runKey, name, String(file[0])], [id]);
    const values = [tenantId, datasetId, id, runKey, name, checksumChange];
    const { lastInsertRowid } = this.#statements.copyRunFile.run(values);
    return { name, mimeType: toMimeType(String(file[0])), blob: lastInsertRowid };
  }

  /**
   * Stores the attachments of a new example: those that were sent, and those to copy from its source run.
   *
   * @throws RequestError 404: the source run has no such attachment.
   */
  attachAll(tenantId: string, draft: ExampleDraft): readonly Attachment[] {
    const { attachments = [], runAttachments = [], sourceRunId, datasetId, id } = draft;
    const owner = { tenantId, datasetId, id };
    const copiedFiles = runAttachments.map((name) => {
      const runKey = this.#tenantKeys.keyOf("run", tenantId, sourceRunId ?? "");
      const file = this.copyRunFile(owner, runKey, name);
      if (file === undefined) {
        throw createMissingFileError(sourceRunId, name);
      }
      return file;
    });
    return [...copiedFiles, ...attachments.map((file) => this.attach(owner, file))];
  }

  /** Whether a draft equals the stored example, including the attachments. */
  isStored(stored: CurrentExample, draft: ExampleDraft): boolean {
    const fileComparisons = compareWithStored(stored, draft);
    return fileComparisons?.every(([{ blob }, bytes]) => this.#hasBytes(blob, bytes)) ?? false;
  }

  #hasBytes(key: number, bytes: Uint8Array): boolean {
    const [stored] = this.#queries.findFile.all({ key });
    return stored !== undefined && Buffer.compare(stored.bytes, bytes) === 0;
  }
}

/** The tables and conditions of a `FROM` clause that selects an attachment of a run of the tenant. */
const selectRunFile = (tenant: string, run: string, name: string): string =>
  `attachments a JOIN runs r ON r.trace_id = a.trace_id AND r.id = a.id
   JOIN projects p ON p.id = r.project_id AND p.tenant_id = ${tenant}
   WHERE r.id = ${run} AND a.name = ${name}`;
