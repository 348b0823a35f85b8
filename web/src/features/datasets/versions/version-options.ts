import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import type { DatasetVersion } from "../dataset.ts";

/** A version in a select box. */
export interface VersionOption {
  readonly value: string;
  readonly label: string;
}

/**
 * Finds the version that has the timestamp or the tag `asOf`. `latest` is the first version, because `versions` begins
 * with the newest version.
 */
export const findVersion = (
  versions: readonly DatasetVersion[],
  asOf: string,
): DatasetVersion | undefined =>
  asOf === "latest"
    ? versions[0]
    : versions.find((version) => version.asOf === asOf || version.tags.includes(asOf));

/**
 * Labels versions with their number, time and tags, such as `#12 · 2026-11-27 15:22:30 · latest`. `versions` contains
 * the newest versions in descending order and without gaps, so the numbers of all versions follow from the number of
 * one version, `known`.
 */
export function toVersionOptions(
  versions: readonly DatasetVersion[],
  known: { readonly asOf: string; readonly number: number | undefined },
): readonly VersionOption[] {
  const knownVersion = findVersion(versions, known.asOf);
  const knownIndex = knownVersion === undefined ? -1 : versions.indexOf(knownVersion);
  return versions.map(({ asOf, atMs, tags }, index) => ({
    value: asOf,
    label: [
      ...(knownIndex === -1 || known.number === undefined
        ? []
        : [`#${(known.number + knownIndex - index).toLocaleString("en")}`]),
      formatTime(atMs),
      ...tags.map(toVisibleText),
    ].join(" · "),
  }));
}
