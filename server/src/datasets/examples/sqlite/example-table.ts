import { toMimeType } from "../../../bodies/part-head.ts";
import type { Attachment, AttachmentDraft, Example } from "../example.ts";
import {
  changedChecksumSql,
  computeChecksumChange,
  computeChecksum,
} from "../../../storage/sqlite/checksum.ts";
import { ExampleIdIndex, keysOfIds } from "./example-places.ts";
import { exampleSelection, parseExampleRow } from "./example-row.ts";
import { parseRows } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

/** A row of `examples` to insert. */
export interface ExampleRow {
  readonly tenantId: string;
  readonly datasetId: string;
  readonly id: string;
  /** The position of the row that this one replaces; defaults to the row's key. */
  readonly position?: number;
  readonly createdMicros: number;
  readonly fromMicros: number;
  /** Written before its version exists, so that no read returns it yet. See `example-stage.ts`. */
  readonly isStaged?: boolean;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
}

/** `to_us` of a staged row: before its `from_us`, so that the row is in no version. */
export const stagedMicros = 0;

/** An example in its current version, with the key of its row. */
export interface CurrentExample extends Example {
  readonly key: number;
}

/** The row of one version of an example. */
export interface FoundRow {
  readonly id: string;
  readonly key: number;
  readonly datasetId: string;
  /** Whether it is the current version. */
  readonly isCurrent: boolean;
}

/** Writes the rows of examples and of their attachments. */
export class ExampleTable {
  readonly #statements;
  readonly #idIndex: ExampleIdIndex;
  /** Keys are never reused, even after a rollback. */
  #lastKey: number | undefined;
  /** The last row that {@link ExampleTable.indexNewIds} has indexed. */
  #lastIndexedKey = 0;

  constructor(db: Connection) {
    this.#idIndex = new ExampleIdIndex(db);
    this.#statements = {
      lastKey: db.prepare("SELECT max(key) FROM examples").raw(),
      insert: db.prepare(
        `INSERT INTO examples (key, position, tenant_id, dataset_id, id, created_us, from_us, to_us, source_run_id,
           inputs, outputs, metadata, attachments) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      end: db.prepare("UPDATE examples SET to_us = ? WHERE key = ?"),
      endAll: db.prepare(
        "UPDATE examples SET to_us = ? WHERE key IN (SELECT value FROM json_each(?))",
      ),
      insertBlob: db.prepare(
        "INSERT INTO example_blobs (tenant_id, dataset_id, example_id, bytes, checksum) VALUES (?, ?, ?, ?, ?)",
      ),
      copyBlob: db.prepare(
        `INSERT INTO example_blobs (tenant_id, dataset_id, example_id, bytes, checksum)
         SELECT ?1, ?2, ?3, bytes, ${changedChecksumSql("?6")} FROM ${fileOfRun("?1", "?4", "?5")}`,
      ),
      findRunFile: db.prepare(`SELECT content_type FROM ${fileOfRun("?1", "?2", "?3")}`).raw(),
      readBlob: db.prepare("SELECT bytes FROM example_blobs WHERE key = ?").raw(),
      current: db
        .prepare(
          `${exampleSelection.replace("SELECT ", "SELECT e.key, ")}
           WHERE e.key IN (${keysOfIds("?1")}) AND e.id IN (SELECT value FROM json_each(?1))
           AND e.tenant_id = ?2 AND +e.to_us IS NULL`,
        )
        .raw(),
      step: db
        .prepare(
          `${exampleSelection.replace("SELECT ", "SELECT e.key, ")}
           WHERE e.dataset_id = ? AND e.position > ? AND e.to_us IS NULL ORDER BY e.position LIMIT ?`,
        )
        .raw(),
      count: db
        .prepare("SELECT count(*) FROM examples WHERE dataset_id = ? AND to_us IS NULL")
        .raw(),
      rows: db
        .prepare(
          `SELECT id, key, dataset_id, to_us IS NULL AND dataset_id IN (SELECT id FROM datasets WHERE is_ready = 1)
           FROM examples WHERE key IN (${keysOfIds("?1")})
           AND id IN (SELECT value FROM json_each(?1)) AND tenant_id = ?2`,
        )
        .raw(),
      keys: db.prepare("SELECT key FROM examples WHERE dataset_id = ? LIMIT ?").raw(),
      eraseRows: db.prepare("DELETE FROM examples WHERE key IN (SELECT value FROM json_each(?))"),
      eraseBlobs: db.prepare(
        `DELETE FROM example_blobs WHERE (example_id, tenant_id) IN
           (SELECT id, tenant_id FROM examples WHERE key IN (SELECT value FROM json_each(?1)))
           AND coalesce(dataset_id = ?2, TRUE)`,
      ),
    };
  }

  /** The key of the next row. */
  nextKey(): number {
    return this.#readLastKey() + 1;
  }

  #readLastKey(): number {
    if (this.#lastKey === undefined) {
      this.#lastKey = Number(parseRows(this.#statements.lastKey.all())[0]?.[0] ?? 0);
      this.#lastIndexedKey = this.#lastKey;
    }
    return this.#lastKey;
  }

  /**
   * Inserts a row and returns its key. The row can be found by its id once {@link ExampleTable.indexNewIds} was
   * called.
   */
  insert(row: ExampleRow): number {
    const { attachments } = row;
    const key = this.nextKey();
    this.#lastKey = key;
    this.#statements.insert.run([
      key,
      row.position ?? key,
      row.tenantId,
      row.datasetId,
      row.id,
      row.createdMicros,
      row.fromMicros,
      row.isStaged === true ? stagedMicros : null,
      row.sourceRunId,
      row.inputs,
      row.outputs,
      row.metadata,
      attachments.length === 0 ? null : JSON.stringify(attachments),
    ]);
    return key;
  }

  /** Adds the inserted rows to the index of ids. Call it after inserting. */
  indexNewIds(): void {
    const lastKey = this.#lastKey ?? 0;
    if (lastKey > this.#lastIndexedKey) {
      this.#idIndex.add(this.#lastIndexedKey, lastKey);
      this.#lastIndexedKey = lastKey;
    }
  }

  /** Ends a row: it is not valid from `micros` on. */
  end(key: number, micros: number): void {
    this.#statements.end.run([micros, key]);
  }

  /** Ends many rows. */
  endAll(keys: readonly number[], micros: number): void {
    this.#statements.endAll.run([micros, JSON.stringify(keys)]);
  }

  /** The current examples among the ids, by id and in the order of the ids. */
  findCurrent(tenantId: string, ids: readonly string[]): Map<string, CurrentExample> {
    const rows = parseRows(this.#statements.current.all([JSON.stringify(ids), tenantId]));
    const found = new Map(rows.map(toCurrent).map((example) => [example.id, example]));
    return new Map(
      ids.flatMap((id) => {
        const example = found.get(id);
        return example === undefined ? [] : [[id, example] as const];
      }),
    );
  }

  /** Yields the current examples of a dataset in groups of `step`. */
  *listCurrent(datasetId: string, step: number): Generator<readonly CurrentExample[]> {
    for (let after = 0, isMore = true; isMore;) {
      const rows = parseRows(this.#statements.step.all([datasetId, after, step])).map(toCurrent);
      yield rows;
      after = rows.at(-1)?.position ?? after;
      isMore = rows.length === step;
    }
  }

  /** The number of current examples of a dataset. */
  count(datasetId: string): number {
    return Number(parseRows(this.#statements.count.all([datasetId]))[0]?.[0]);
  }

  /** All rows with these ids, of every version. */
  findRows(tenantId: string, ids: readonly string[]): FoundRow[] {
    const rows = this.#statements.rows.all([JSON.stringify(ids), tenantId]);
    return parseRows(rows).map(([id, key, datasetId, isCurrent]) => ({
      id: String(id),
      key: Number(key),
      datasetId: String(datasetId),
      isCurrent: isCurrent === 1,
    }));
  }

  /** Keys of up to `limit` rows of a dataset, of any version. */
  listKeys(datasetId: string, limit: number): number[] {
    return parseRows(this.#statements.keys.all([datasetId, limit])).map(([key]) => Number(key));
  }

  /**
   * Erases rows and the attachments of their examples: those in one dataset, or in all if none is passed. The caller
   * must erase every row of these examples there, because attachments are shared between versions.
   */
  erase(keys: readonly number[], datasetId: string | null = null): void {
    const list = JSON.stringify(keys);
    this.#statements.eraseBlobs.run([list, datasetId]);
    this.#statements.eraseRows.run([list]);
  }

  /** Stores a file of an example. */
  attach(
    { tenantId, datasetId, id }: Pick<ExampleRow, "tenantId" | "datasetId" | "id">,
    { name, mimeType, bytes }: AttachmentDraft,
  ): Attachment {
    const values = [tenantId, datasetId, id, bytes, computeChecksum(bytes, id)];
    const { lastInsertRowid } = this.#statements.insertBlob.run(values);
    return { name, mimeType, blob: lastInsertRowid };
  }

  /** Copies an attachment of a run; `undefined` if the run has none of that name. */
  attachFromRun(
    { tenantId, datasetId, id }: Pick<ExampleRow, "tenantId" | "datasetId" | "id">,
    runId: string,
    name: string,
  ): Attachment | undefined {
    const [file] = parseRows(this.#statements.findRunFile.all([tenantId, runId, name]));
    if (file === undefined) {
      return undefined;
    }
    const change = computeChecksumChange([runId, name, String(file[0])], [id]);
    const values = [tenantId, datasetId, id, runId, name, change];
    const { lastInsertRowid } = this.#statements.copyBlob.run(values);
    return { name, mimeType: toMimeType(String(file[0])), blob: lastInsertRowid };
  }

  /** Whether a stored file has the same bytes. */
  hasBytes({ blob }: Attachment, bytes: Uint8Array): boolean {
    const stored = parseRows(this.#statements.readBlob.all([blob]))[0]?.[0];
    return stored instanceof Uint8Array && Buffer.compare(stored, bytes) === 0;
  }
}

/** `FROM` clause that selects an attachment of a run of the tenant. */
const fileOfRun = (tenant: string, run: string, name: string): string =>
  `attachments a JOIN runs r ON r.trace_id = a.trace_id AND r.id = a.id
   JOIN projects p ON p.id = r.project_id AND p.tenant_id = ${tenant}
   WHERE r.id = ${run} AND a.name = ${name}`;

const toCurrent = ([key, ...values]: readonly unknown[]): CurrentExample => ({
  ...parseExampleRow(values),
  key: Number(key),
});
