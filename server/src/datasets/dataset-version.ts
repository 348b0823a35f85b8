/** The tag that always refers to the newest version. */
export const latestTag = "latest";

/** A reference to a version, as a caller writes it. */
export type AsOf =
  | { readonly kind: "time"; readonly micros: number }
  | { readonly kind: "tag"; readonly tag: string };

/** A time in microseconds since the epoch at which to read examples; `null` means now. */
export type Moment = number | null;

/** One version of a dataset. Each write to its examples creates one. */
export interface DatasetVersion {
  readonly micros: number;
  readonly tags: readonly string[];
}
