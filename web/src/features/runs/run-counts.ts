import { parseTimeMs } from "../../components/time/time.ts";

/** Runs and errors in stretches of time, one beside the other, empty ones too. */
export interface RunCounts {
  /** Where each stretch begins. */
  readonly at: readonly number[];
  readonly succeeded: readonly number[];
  readonly failed: readonly number[];
  readonly total: number;
  readonly range: readonly [from: number, to: number] | undefined;
}

const emptyMax = 1_000;

/** @throws TypeError the server answered something else. */
export function parseRunCounts(value: unknown): RunCounts {
  const answer = value as Readonly<Record<string, unknown>>;
  const { buckets, width_ms: widthMs } = answer;
  if (!Array.isArray(buckets) || typeof widthMs !== "number") {
    throw new TypeError("the server's answer holds no counts");
  }
  const from = parseTimeMs(answer["from"]);
  const to = parseTimeMs(answer["to"]);
  if (from === undefined || to === undefined) {
    return { at: [], succeeded: [], failed: [], total: 0, range: undefined };
  }
  const found = new Map(
    buckets.map((bucket: unknown) => {
      const { start, runs, errors } = bucket as Readonly<Record<string, unknown>>;
      return [parseTimeMs(start) ?? 0, { runs: Number(runs), errors: Number(errors) }] as const;
    }),
  );
  const first = Math.floor(from / widthMs) * widthMs;
  const count = Math.min(emptyMax, Math.floor((to - first) / widthMs) + 1);
  const at = Array.from({ length: count }, (_, index) => first + index * widthMs);
  const failed = at.map((start) => found.get(start)?.errors ?? 0);
  return {
    at,
    failed,
    succeeded: at.map((start, index) => (found.get(start)?.runs ?? 0) - (failed[index] ?? 0)),
    total: [...found.values()].reduce((sum, { runs }) => sum + runs, 0),
    range: [first, first + count * widthMs],
  };
}
