import type { ExampleWriteEngine } from "../examples/example-engine.ts";
import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import type { Database } from "../../storage/query.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { DatasetDraft } from "../dataset.ts";
import { datasetQueries } from "../dataset-queries.ts";
import { parseBodyColumn } from "../dataset-row.ts";
import { DatasetRows } from "../dataset-rows.ts";
import type { CurrentAuthor } from "../version-author.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import { exampleQueries } from "../examples/example-queries.ts";
import { ExampleRows } from "../examples/example-rows.ts";
import type { SchemaChecks } from "../examples/schemas/schema-checks.ts";
import type { RowKeys } from "../../storage/row-keys.ts";
import type { UploadRow, UploadWrites } from "./upload.ts";

interface UploadWriterDependencies {
  readonly keys: RowKeys;
  readonly tokenCipher: TokenCipher;
  readonly schemaChecks: SchemaChecks;
  readonly engine: ExampleWriteEngine;
  readonly author?: CurrentAuthor;
}

/**
 * Stores datasets that are uploaded in several steps. All of their examples belong to one version, whose time is the
 * beginning of the upload. If the server crashes during an upload, SQLite deletes the incomplete dataset at the next
 * start. On PostgreSQL, the leader deletes it once it is a day old.
 */
export class UploadWriter implements UploadWrites {
  readonly #db: Database;
  readonly #schemas: SchemaChecks;
  readonly #engine: ExampleWriteEngine;
  readonly #datasets: DatasetRows;
  readonly #examples: ExampleRows;
  readonly #versions: DatasetVersions;

  constructor(
    db: Database,
    { keys, tokenCipher, schemaChecks, engine, author }: UploadWriterDependencies,
  ) {
    this.#db = db;
    this.#schemas = schemaChecks;
    this.#engine = engine;
    this.#datasets = new DatasetRows(db, keys);
    this.#examples = new ExampleRows(db, engine);
    this.#versions = new DatasetVersions(db, tokenCipher, author);
  }

  async begin(tenantId: string, draft: DatasetDraft): Promise<void> {
    this.#schemas.requireValidSchemas(draft);
    await this.#datasets.insert(tenantId, draft, "unready");
  }

  async extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): Promise<void> {
    const upload = await this.#readUpload(tenantId, datasetId);
    const examples = rows.map((row) => ({ ...row, id: randomUUID() }));
    this.#schemas.requireValid(upload, examples);
    await this.#examples.insertAll(
      examples.map((example) => ({
        ...example,
        tenantId,
        datasetId,
        createdMicros: upload.createdMicros,
        fromMicros: upload.createdMicros,
        sourceRunId: null,
        attachments: [],
      })),
    );
    await this.#engine.indexNewIds();
  }

  async end(tenantId: string, datasetId: string): Promise<void> {
    const { createdMicros } = await this.#readUpload(tenantId, datasetId);
    await this.#db.run(datasetQueries.setReady, { id: datasetId });
    const dataset = await this.#versions.readDataset(tenantId, datasetId);
    const row = await this.#db.first(exampleQueries.countCurrent, { datasetId });
    await this.#versions.addVersion(dataset, createdMicros, row?.n ?? 0);
  }

  async drop(tenantId: string, datasetId: string): Promise<void> {
    await this.#readUpload(tenantId, datasetId);
    await this.#datasets.retire(datasetId);
  }

  async #readUpload(tenantId: string, id: string): Promise<Omit<DatasetDraft, "name">> {
    const row = await this.#db.first(datasetQueries.findUnready, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return { ...parseBodyColumn(row.body), id, createdMicros: row.created_us };
  }
}
