import { Fields } from "../fields.ts";

/** A link with which anyone can read a dataset. */
export interface DatasetShare {
  readonly datasetId: string;
  readonly shareToken: string;
  /** URL of the shared dataset's page. */
  readonly url: string;
}

/** @throws {@link ResponseError} if `value` is not a share. */
export function parseDatasetShare(
  value: unknown,
  createUrl: (token: string) => string,
): DatasetShare {
  const fields = new Fields(value, "share of a dataset");
  const shareToken = fields.readText("share_token");
  return { datasetId: fields.readText("dataset_id"), shareToken, url: createUrl(shareToken) };
}
