import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import type { DatasetDraft } from "../dataset.ts";
import type { UploadRow, UploadWrites } from "./upload.ts";
import type { DatasetWriteDependencies } from "../dataset-writing.ts";
import { DatasetTable } from "../dataset-table.ts";

/**
 * Writes datasets that are uploaded in parts; all rows belong to the version of the time at which the upload began.
 * Incomplete uploads are deleted at the next start.
 */
export class UploadWriter implements UploadWrites {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #table: DatasetTable;

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
    this.#table = new DatasetTable(dependencies);
    for (const id of this.#table.listUnready()) {
      dependencies.index.clear(id);
      this.#table.delete(id);
    }
  }

  begin(tenantId: string, draft: DatasetDraft): void {
    this.#dependencies.schemas.assertSchemas(draft);
    this.#table.insert(tenantId, draft, "unready");
  }

  extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): void {
    const upload = this.#read(tenantId, datasetId);
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

  end(tenantId: string, datasetId: string): void {
    const { createdMicros } = this.#read(tenantId, datasetId);
    this.#table.setReady(datasetId);
    const dataset = this.#dependencies.versions.read(tenantId, datasetId);
    this.#dependencies.versions.addVersion(
      dataset,
      createdMicros,
      this.#dependencies.table.count(datasetId),
    );
  }

  drop(tenantId: string, datasetId: string): void {
    this.#read(tenantId, datasetId);
    this.#table.retire(datasetId);
  }

  #read(tenantId: string, datasetId: string): Omit<DatasetDraft, "name"> {
    const upload = this.#table.findUnready(tenantId, datasetId);
    if (upload === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return upload;
  }
}
