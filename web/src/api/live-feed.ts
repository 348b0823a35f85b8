import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { toEndpointPath } from "./endpoint-path.ts";
import { ApiError, streamEvents } from "./http.ts";
import { mergeReports, emptyReport, parseLiveReport } from "./live-report.ts";
import type { LiveReport } from "./live-report.ts";

const livePath = toEndpointPath("/ui/live");
const firstReconnectMs = 1_000;
const maxReconnectMs = 15_000;

/** The live report in the query cache. It is never fetched: {@link useLiveReport} writes it from the event stream. */
const liveQuery = queryOptions({
  queryKey: ["live"],
  queryFn: (): LiveReport => emptyReport,
  enabled: false,
  staleTime: Infinity,
});

/**
 * The live report (the activity of the last five minutes) and the last error of the event stream that updates it. The
 * stream reconnects by itself.
 */
export function useLiveReport(): {
  readonly liveReport: LiveReport | undefined;
  readonly error: Error | undefined;
} {
  const queryClient = useQueryClient();
  useEffect(() => {
    const controller = new AbortController();
    const storeReport = (report: LiveReport): void => {
      queryClient.setQueryData(liveQuery.queryKey, (previous = emptyReport) =>
        mergeReports(previous, report),
      );
    };
    const storeError = (error: Error | undefined): void => {
      queryClient.setQueryData(errorQueryKey, error ?? null);
    };
    void watchStream({ signal: controller.signal, storeReport, storeError });
    return () => controller.abort();
  }, [queryClient]);
  const { data } = useQuery(liveQuery);
  const { data: error } = useQuery<Error | null>({
    queryKey: errorQueryKey,
    queryFn: () => null,
    enabled: false,
    staleTime: Infinity,
  });
  return { liveReport: data, error: error ?? undefined };
}

const errorQueryKey = ["live", "error"];

/** The callbacks that receive reports and errors, and the signal that ends the stream. */
interface WatchOptions {
  readonly signal: AbortSignal;
  readonly storeReport: (report: LiveReport) => void;
  readonly storeError: (error: Error | undefined) => void;
}

/** Reads the stream until `signal` aborts, and reconnects with a growing delay. */
async function watchStream({ signal, storeReport, storeError }: WatchOptions): Promise<void> {
  let reconnectMs = firstReconnectMs;
  while (!signal.aborted) {
    try {
      for await (const { data } of streamEvents(livePath, signal)) {
        storeReport(parseLiveReport(data));
        storeError(undefined);
        reconnectMs = firstReconnectMs;
      }
    } catch (cause) {
      if (!signal.aborted) {
        storeError(cause instanceof Error ? cause : new ApiError(0, String(cause)));
      }
    }
    await delay(reconnectMs, signal);
    reconnectMs = Math.min(reconnectMs * 2, maxReconnectMs);
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
