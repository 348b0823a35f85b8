import type { RunPage, RunSummary } from "./run.ts";

/**
 * The newest page laid over the pages read before. Both are newest first; a run in both is taken from
 * the newest page, which knows how it went on.
 *
 * `undefined`: the two don't meet, so runs between them are not known and what was read is out of date.
 */
export function mergeRuns(
  newest: RunPage,
  pages: readonly RunPage[],
): readonly RunSummary[] | undefined {
  const known = pages.flatMap(({ runs }) => runs);
  const ids = new Set(newest.runs.map(({ id }) => id));
  const older = known.filter(({ id }) => !ids.has(id));
  const hasGap = newest.next !== undefined && known.length > 0 && older.length === known.length;
  return hasGap ? undefined : [...newest.runs, ...older].toSorted(newestFirst);
}

const newestFirst = (a: RunSummary, b: RunSummary): number =>
  b.startMs - a.startMs || (a.id < b.id ? 1 : -1);
