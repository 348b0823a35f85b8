import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/** The time ranges, which end now, that a table of projects can cover. */
export const activityRanges = {
  "1h": { label: "1 h", ms: 3_600_000 },
  "24h": { label: "24 h", ms: 86_400_000 },
  "7d": { label: "7 d", ms: 604_800_000 },
  "30d": { label: "30 d", ms: 2_592_000_000 },
} as const;

export type ActivityRange = keyof typeof activityRanges;

export const isActivityRange = (value: unknown): value is ActivityRange =>
  typeof value === "string" && Object.hasOwn(activityRanges, value);

/** The traces of a project in a time range. */
export interface ProjectActivity {
  readonly traces: number;
  readonly errors: number;
  /** The number of traces in each of {@link bucketCount} parts of the range, the oldest first. */
  readonly buckets: readonly number[];
  /** The start of the latest trace, also if it is before the range; `undefined` if the project has none. */
  readonly lastMs: number | undefined;
}

/** The number of points of a sparkline. */
const bucketCount = 24;
const refetchIntervalMs = 30_000;

/** The activity of a project in a range that ends now. */
export const createActivityQuery = (projectId: string, range: ActivityRange) =>
  queryOptions({
    queryKey: ["projects", projectId, "activity", range],
    queryFn: async ({ signal }): Promise<ProjectActivity> => {
      const nowMs = Date.now();
      const fromMs = nowMs - activityRanges[range].ms;
      const path = toEndpointPath("/ui/runs/counts");
      const query = { session: projectId, is_root: "true", buckets: String(bucketCount) };
      const rangeQuery = new URLSearchParams({
        ...query,
        from: new Date(fromMs).toISOString(),
        to: new Date(nowMs).toISOString(),
      });
      // Without a time range, `to` of the response is the start of the latest trace.
      const allTimeQuery = new URLSearchParams({ ...query, buckets: "1" });
      const [counts, all] = await Promise.all([
        getJson(`${path}?${rangeQuery}`, signal),
        getJson(`${path}?${allTimeQuery}`, signal),
      ]);
      return toActivity(counts, { fromMs, toMs: nowMs, last: all });
    },
    refetchInterval: refetchIntervalMs,
  });

/** @throws TypeError the response contains no counts. */
export function toActivity(
  counts: unknown,
  {
    fromMs,
    toMs,
    last,
  }: { readonly fromMs: number; readonly toMs: number; readonly last: unknown },
): ProjectActivity {
  const { buckets } = counts as { readonly buckets?: unknown };
  if (!Array.isArray(buckets)) {
    throw new TypeError("The response contains no run counts.");
  }
  const values = Array.from({ length: bucketCount }, () => 0);
  let [traces, errors] = [0, 0];
  for (const bucket of buckets as readonly Readonly<Record<string, unknown>>[]) {
    const runs = Number(bucket["runs"]);
    const share = ((parseTimeMs(bucket["start"]) ?? fromMs) - fromMs) / (toMs - fromMs);
    const index = Math.max(0, Math.min(bucketCount - 1, Math.floor(share * bucketCount)));
    values[index] = (values[index] ?? 0) + runs;
    traces += runs;
    errors += Number(bucket["errors"]);
  }
  const { to } = last as { readonly to?: unknown };
  return { traces, errors, buckets: values, lastMs: parseTimeMs(to) };
}
