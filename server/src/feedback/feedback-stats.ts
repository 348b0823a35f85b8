import type { KeyStats, FeedbackStats } from "../runs/run-feedback.ts";
import type { SumRow } from "./feedback-queries.ts";

/** Maximum number of values per key in the statistics. */
const maxValues = 100;

interface KeySums {
  /** Number of feedback items. */
  n: number;
  /** Number of feedback items that have a score. */
  scored: number;
  /** Sum of the scores. */
  sum: number;
  readonly values: (readonly [string, number])[];
}

/** Computes the statistics of each group from the sums of its keys and categories. */
export function aggregateStats(rows: readonly SumRow[]): ReadonlyMap<string, FeedbackStats> {
  const groups = new Map<string, Map<string, KeySums>>();
  for (const row of rows) {
    const sumsByKey = groups.get(row.group_id) ?? new Map<string, KeySums>();
    groups.set(row.group_id, sumsByKey);
    const key = String(JSON.parse(row.key_json));
    const sums = sumsByKey.get(key) ?? { n: 0, scored: 0, sum: 0, values: [] };
    sumsByKey.set(key, sums);
    sums.n += row.n;
    sums.scored += row.scored;
    sums.sum += row.sum ?? 0;
    const value = parseCategory(row.category);
    if (value !== undefined) {
      sums.values.push([value, row.n]);
    }
  }
  return new Map(
    [...groups].map(([group, keys]) => [
      group,
      Object.fromEntries([...keys].map(([key, sums]) => [key, toKeyStats(sums)])),
    ]),
  );
}

const toKeyStats = ({ n, scored, sum, values }: KeySums): KeyStats => ({
  n,
  avg: scored === 0 ? null : sum / scored,
  values: Object.fromEntries(
    values.toSorted(([, countA], [, countB]) => countB - countA).slice(0, maxValues),
  ),
});

/**
 * Returns the text under which a value is counted: a string as it is, a number or boolean as JSON; `undefined` for
 * lists and objects, which are not counted.
 */
export function parseCategory(json: string | null): string | undefined {
  if (json === null || json.startsWith("{") || json.startsWith("[")) {
    return undefined;
  }
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}
