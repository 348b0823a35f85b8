import type { KeyStats, FeedbackStats } from "../runs/run-feedback.ts";
import { parseRows } from "../storage/sqlite/rows.ts";

/** Maximum length of a value's JSON text to be counted as a category; longer ones are prose. */
const maxValueChars = 256;
/** Maximum number of values per key in the statistics. */
const maxValues = 100;

/** The columns after the column to group by: key, value and their sums. Group by the first three columns. */
export const statsColumns = `f.key_json,
  CASE WHEN length(f.value_json) <= ${maxValueChars} THEN f.value_json END,
  count(*), count(f.score), sum(f.score)`;

interface Sums {
  n: number;
  scored: number;
  sum: number;
  readonly values: (readonly [string, number])[];
}

/** Computes statistics for each group. */
export function foldStats(rows: readonly unknown[]): ReadonlyMap<string, FeedbackStats> {
  const groups = new Map<string, Map<string, Sums>>();
  for (const [group, keyJson, valueJson, n, scored, sum] of parseRows(rows)) {
    const keys = groups.get(String(group)) ?? new Map<string, Sums>();
    groups.set(String(group), keys);
    const key = String(JSON.parse(String(keyJson)));
    const sums = keys.get(key) ?? { n: 0, scored: 0, sum: 0, values: [] };
    keys.set(key, sums);
    sums.n += Number(n);
    sums.scored += Number(scored);
    sums.sum += Number(sum ?? 0);
    const value = toCategory(valueJson);
    if (value !== undefined) {
      sums.values.push([value, Number(n)]);
    }
  }
  return new Map(
    [...groups].map(([group, keys]) => [
      group,
      Object.fromEntries([...keys].map(([key, sums]) => [key, toKeyStats(sums)])),
    ]),
  );
}

const toKeyStats = ({ n, scored, sum, values }: Sums): KeyStats => ({
  n,
  avg: scored === 0 ? null : sum / scored,
  values: Object.fromEntries(
    values.toSorted(([, countA], [, countB]) => countB - countA).slice(0, maxValues),
  ),
});

/** A string as it is, a number or boolean as JSON; `undefined` for lists and objects, which are not counted. */
function toCategory(json: unknown): string | undefined {
  if (typeof json !== "string" || json.startsWith("{") || json.startsWith("[")) {
    return undefined;
  }
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}
