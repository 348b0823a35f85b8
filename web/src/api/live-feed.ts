import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { endpointPath } from "./endpoint-path.ts";
import { ApiError, streamEvents } from "./http.ts";
import { mergeReports, emptyReport, parseLiveReport } from "./live-report.ts";
import type { LiveReport } from "./live-report.ts";

const path = endpointPath("/ui/live");
const firstWaitMs = 1_000;
const longestWaitMs = 15_000;

/** The live report in the query cache. It is never fetched; {@link useLiveReport} writes it from the event stream. */
const liveQuery = queryOptions({
  queryKey: ["live"],
  queryFn: (): LiveReport => emptyReport,
  enabled: false,
  staleTime: Infinity,
});

/** The live report and the last error of its stream. The stream reconnects by itself. */
export function useLiveReport(): {
  readonly live: LiveReport | undefined;
  readonly error: Error | undefined;
} {
  const queryClient = useQueryClient();
  useEffect(() => {
    const controller = new AbortController();
    const store = (report: LiveReport): void => {
      queryClient.setQueryData(liveQuery.queryKey, (previous = emptyReport) =>
        mergeReports(previous, report),
      );
    };
    const fail = (error: Error | undefined): void => {
      queryClient.setQueryData(errorKey, error ?? null);
    };
    void watch({ signal: controller.signal, store, fail });
    return () => controller.abort();
  }, [queryClient]);
  const { data } = useQuery(liveQuery);
  const { data: error } = useQuery<Error | null>({
    queryKey: errorKey,
    queryFn: () => null,
    enabled: false,
    staleTime: Infinity,
  });
  return { live: data, error: error ?? undefined };
}

const errorKey = ["live", "error"];

/** The callbacks and the lifetime of the stream's reader. */
interface WatchOptions {
  readonly signal: AbortSignal;
  readonly store: (report: LiveReport) => void;
  readonly fail: (error: Error | undefined) => void;
}

/** Reads the stream until `signal` aborts, and reconnects with a growing delay. */
async function watch({ signal, store, fail }: WatchOptions): Promise<void> {
  let waitMs = firstWaitMs;
  while (!signal.aborted) {
    try {
      for await (const { data } of streamEvents(path, signal)) {
        store(parseLiveReport(data));
        fail(undefined);
        waitMs = firstWaitMs;
      }
    } catch (cause) {
      if (!signal.aborted) {
        fail(cause instanceof Error ? cause : new ApiError(0, String(cause)));
      }
    }
    await delay(waitMs, signal);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

const delay = (delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
