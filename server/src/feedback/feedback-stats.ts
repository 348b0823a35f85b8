import type { KeyStats, FeedbackStats } from "../runs/run-feedback.ts";
import { parseRows } from "../storage/sqlite/rows.ts";

/** Characters of a value's JSON text that still makes it a value to be counted; a longer one is prose. */
const countedChars = 256;
/** Values of one key that are listed. */
const listedValues = 100;

/** What follows the column to group by: key, value and the sums over both. Group by the first three. */
export const statsColumns = `f.key_json,
  CASE WHEN length(f.value_json) <= ${countedChars} THEN f.value_json END,
  count(*), count(f.score), sum(f.score)`;

interface Sums {
  n: number;
  scored: number;
  sum: number;
  readonly values: (readonly [string, number])[];
}

/** Statistics by whatever was grouped by. */
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
    const value = nameOf(valueJson);
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
    values.toSorted(([, one], [, other]) => other - one).slice(0, listedValues),
  ),
});

/** A text as it is, a number or a boolean as JSON; lists and objects are not counted. */
function nameOf(json: unknown): string | undefined {
  if (typeof json !== "string" || json.startsWith("{") || json.startsWith("[")) {
    return undefined;
  }
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}
