import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import type { Database } from "../../storage/query.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { DatasetDraft } from "../dataset.ts";
import { datasetQueries } from "../dataset-queries.ts";
import { parseBody } from "../dataset-row.ts";
import { DatasetRows } from "../dataset-rows.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import type { DatasetWriteDependencies } from "../examples/sqlite/dataset-writing.ts";
import type { UploadRow, UploadWrites } from "./upload.ts";

/**
 * Writes datasets that are uploaded in parts; all rows belong to the version of the time at which the upload began.
 * Incomplete uploads are deleted at the next start.
 */
export class UploadWriter implements UploadWrites {
  readonly #db: Database;
  readonly #dependencies: DatasetWriteDependencies;
  readonly #rows: DatasetRows;
  readonly #versions: DatasetVersions;

  constructor(db: Database, dependencies: DatasetWriteDependencies, tokens: TokenCipher) {
    this.#db = db;
    this.#dependencies = dependencies;
    this.#rows = new DatasetRows(db, dependencies.keys);
    this.#versions = new DatasetVersions(db, tokens);
  }

  async begin(tenantId: string, draft: DatasetDraft): Promise<void> {
    this.#dependencies.schemas.assertSchemas(draft);
    await this.#rows.insert(tenantId, draft, "unready");
  }

  async extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): Promise<void> {
    const upload = await this.#read(tenantId, datasetId);
    const examples = rows.map((row) => ({ ...row, id: randomUUID() }));
    this.#dependencies.schemas.assertFit(upload, examples);
    for (const example of examples) {
      this.#dependencies.table.insert({
        ...example,
        tenantId,
        datasetId,
        createdMicros: upload.createdMicros,
        fromMicros: upload.createdMicros,
        sourceRunId: null,
        attachments: [],
      });
    }
    this.#dependencies.table.indexNewIds();
  }

  async end(tenantId: string, datasetId: string): Promise<void> {
    const { createdMicros } = await this.#read(tenantId, datasetId);
    await this.#db.run(datasetQueries.setReady, { id: datasetId });
    const dataset = await this.#versions.read(tenantId, datasetId);
    const count = this.#dependencies.table.count(datasetId);
    await this.#versions.addVersion(dataset, createdMicros, count);
  }

  async drop(tenantId: string, datasetId: string): Promise<void> {
    await this.#read(tenantId, datasetId);
    await this.#rows.retire(datasetId);
  }

  async #read(tenantId: string, id: string): Promise<Omit<DatasetDraft, "name">> {
    const row = await this.#db.first(datasetQueries.findUnready, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return { ...parseBody(row.body), id, createdMicros: row.created_us };
  }
}
