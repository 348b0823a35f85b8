import type { DatasetDraft } from "../dataset.ts";

/** A row of an uploaded file, as JSON texts. */
export interface UploadRow {
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
}

/** Datasets that arrive in parts and become visible when they are complete. */
export interface UploadWrites {
  /** @throws RequestError 409: the name is taken. 422: a schema is malformed. */
  begin(tenantId: string, draft: DatasetDraft): void;
  /** @throws RequestError 422: a row does not fit the dataset's schema. */
  extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): void;
  /** From now on it is there, with its first version. */
  end(tenantId: string, datasetId: string): void;
  /** It was never there. What it held goes by `datasets.sweep`. */
  drop(tenantId: string, datasetId: string): void;
}
