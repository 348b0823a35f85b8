/** The tag that always refers to the newest version. */
export const latestTag = "latest";

/**
 * How a request refers to a version: by a tag, or by a time. A time means the newest version at or before this time.
 */
export type AsOf =
  | { readonly kind: "time"; readonly micros: number }
  | { readonly kind: "tag"; readonly tag: string };

/**
 * The time for which to read examples, in microseconds since the epoch: a read returns the newest version at or before
 * this time. `null` means the newest version of all.
 */
export type VersionTime = number | null;

/** One version of a dataset. Each write to its examples creates one. */
export interface DatasetVersion {
  /** When the version was written. No other version of the dataset has the same time. */
  readonly micros: number;
  readonly tags: readonly string[];
}

/**
 * By how many microseconds a client may backdate a version. A client sends the time of the application's call, which is
 * before the request arrives.
 */
const maxBackdateMicros = 60_000_000;

/**
 * Chooses the time of a new version: the requested time if it is recent and after the newest version, otherwise now.
 * So each version is later than the one before.
 */
export function chooseVersionTime(
  newestMicros: number | null,
  requestedMicros: number | undefined,
): number {
  const nowMicros = Date.now() * 1_000;
  const lastMicros = newestMicros ?? 0;
  const canUseRequested =
    requestedMicros !== undefined &&
    requestedMicros > lastMicros &&
    requestedMicros <= nowMicros &&
    requestedMicros >= nowMicros - maxBackdateMicros;
  return canUseRequested ? requestedMicros : Math.max(nowMicros, lastMicros + 1);
}
