/** The tag that is always at the newest version. */
export const latestTag = "latest";

/** A version as a caller names it. */
export type AsOf =
  | { readonly kind: "time"; readonly micros: number }
  | { readonly kind: "tag"; readonly tag: string };

/** What was so at a time; `null` is now. */
export type Moment = number | null;

/** One version of a dataset: each write to its examples makes one. */
export interface DatasetVersion {
  readonly micros: number;
  readonly tags: readonly string[];
}
