import type { DatasetDraft } from "../dataset.ts";

/** A row of an uploaded file, as JSON texts. */
export interface UploadRow {
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
}

/** Datasets that are uploaded in parts and become visible when they are complete. */
export interface UploadWrites {
  /** @throws RequestError 409: the name is taken. 422: a schema is malformed. */
  begin(tenantId: string, draft: DatasetDraft): Promise<void>;
  /** @throws RequestError 422: a row does not match the dataset's schema. */
  extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): Promise<void>;
  /** Makes the dataset visible, with its first version. */
  end(tenantId: string, datasetId: string): Promise<void>;
  /** Discards the dataset; `datasets.sweep` erases its contents later. */
  drop(tenantId: string, datasetId: string): Promise<void>;
}
