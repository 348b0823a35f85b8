import type { DatasetDraft } from "../dataset.ts";

/** A row of an uploaded file, converted to the JSON texts of an example. */
export interface UploadRow {
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
}

/** The steps of an upload of a dataset. The dataset becomes visible when it is complete. */
export interface UploadWrites {
  /**
   * Creates an empty dataset, which is not visible yet.
   *
   * @throws RequestError 409: another dataset has the name. 422: a schema is malformed.
   */
  begin(tenantId: string, draft: DatasetDraft): Promise<void>;
  /**
   * Adds examples to the dataset.
   *
   * @throws RequestError 422: a row does not match a schema of the dataset.
   */
  extend(tenantId: string, datasetId: string, rows: readonly UploadRow[]): Promise<void>;
  /** Makes the dataset visible, with its first version. */
  end(tenantId: string, datasetId: string): Promise<void>;
  /** Discards the incomplete dataset. `DatasetWrites.sweep` erases its rows later. */
  drop(tenantId: string, datasetId: string): Promise<void>;
}
