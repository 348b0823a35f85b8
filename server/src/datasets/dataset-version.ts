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

/**
 * Microseconds by which a client may backdate a write. Clients send the time at which they were called, which is before
 * the request arrives.
 */
const maxBackdateMicros = 60_000_000;

/**
 * Chooses the time of a new version: the requested time if it is recent and after the newest version, otherwise now.
 * The versions' times strictly increase.
 */
export function chooseVersionTime(
  newestMicros: number | null,
  requestedMicros: number | undefined,
): number {
  const now = Date.now() * 1_000;
  const last = newestMicros ?? 0;
  const canUseRequested =
    requestedMicros !== undefined &&
    requestedMicros > last &&
    requestedMicros <= now &&
    requestedMicros >= now - maxBackdateMicros;
  return canUseRequested ? requestedMicros : Math.max(now, last + 1);
}
