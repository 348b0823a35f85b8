import { Fields } from "../fields.ts";

/** A link under which anyone may read one run. */
export interface RunShare {
  readonly runId: string;
  readonly shareToken: string;
  /** The page of the shared run. */
  readonly url: string;
}

/** @throws {@link ResponseError} it is not a share. */
export function parseRunShare(value: unknown, urlOf: (token: string) => string): RunShare {
  const fields = new Fields(value, "share of a run");
  const shareToken = fields.text("share_token");
  return { runId: fields.text("run_id"), shareToken, url: urlOf(shareToken) };
}
