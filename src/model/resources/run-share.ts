import { Fields } from "../fields.ts";

/** A link with which anyone can read a run. */
export interface RunShare {
  readonly runId: string;
  readonly shareToken: string;
  /** URL of the shared run's page. */
  readonly url: string;
}

/** @throws {@link ResponseError} if `value` is not a share. */
export function parseRunShare(value: unknown, createUrl: (token: string) => string): RunShare {
  const fields = new Fields(value, "share of a run");
  const shareToken = fields.readText("share_token");
  return { runId: fields.readText("run_id"), shareToken, url: createUrl(shareToken) };
}
