import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { addLive, nothingYet, parseLive } from "./live-report.ts";
import type { Live } from "./live-report.ts";
import { ApiError, listenEvents } from "./http.ts";

const path = "/ui/live";
const firstWaitMs = 1_000;
const longestWaitMs = 15_000;

/** What arrives, kept by {@link useLive}; nothing asks for it. */
const liveQuery = queryOptions({
  queryKey: ["live"],
  queryFn: (): Live => nothingYet,
  enabled: false,
  staleTime: Infinity,
});

/** What arrives now, and whether it is told; begins again when the server is back. */
export function useLive(): { readonly live: Live | undefined; readonly error: Error | undefined } {
  const queryClient = useQueryClient();
  useEffect(() => {
    const controller = new AbortController();
    const keep = (told: Live): void => {
      queryClient.setQueryData(liveQuery.queryKey, (known = nothingYet) => addLive(known, told));
    };
    const fail = (error: Error | undefined): void => {
      queryClient.setQueryData(errorKey, error ?? null);
    };
    void watch({ signal: controller.signal, keep, fail });
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

interface Watch {
  readonly signal: AbortSignal;
  readonly keep: (told: Live) => void;
  readonly fail: (error: Error | undefined) => void;
}

/** Listens until the signal, again after each break. */
async function watch({ signal, keep, fail }: Watch): Promise<void> {
  let waitMs = firstWaitMs;
  while (!signal.aborted) {
    try {
      for await (const { data } of listenEvents(path, signal)) {
        keep(parseLive(data));
        fail(undefined);
        waitMs = firstWaitMs;
      }
    } catch (cause) {
      if (!signal.aborted) {
        fail(cause instanceof Error ? cause : new ApiError(0, String(cause)));
      }
    }
    await pause(waitMs, signal);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

const pause = (delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
