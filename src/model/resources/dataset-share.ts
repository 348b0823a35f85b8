import { Fields } from "../fields.ts";

/** A link under which anyone may read one dataset. */
export interface DatasetShare {
  readonly datasetId: string;
  readonly shareToken: string;
  /** The page of the shared dataset. */
  readonly url: string;
}

/** @throws {@link ResponseError} it is not a share. */
export function parseDatasetShare(value: unknown, urlOf: (token: string) => string): DatasetShare {
  const fields = new Fields(value, "share of a dataset");
  const shareToken = fields.text("share_token");
  return { datasetId: fields.text("dataset_id"), shareToken, url: urlOf(shareToken) };
}
