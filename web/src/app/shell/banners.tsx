import { Button } from "@mantine/core";
import { useQueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import type { Query } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore, useCallback } from "react";
import { subscribeToConnectivity, readIsOffline } from "../../api/connectivity.ts";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { describeFailure } from "../../api/failure.ts";
import { getJson } from "../../api/http.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

const firstCheckMs = 300;
const checkIntervalMs = 2_000;

/** Shows that the server does not respond. Polls the server, and refetches all data once it responds again. */
export const OfflineBanner = () => {
  const isOffline = useSyncExternalStore(subscribeToConnectivity, readIsOffline);
  const queryClient = useQueryClient();
  useEffect(() => {
    if (!isOffline) {
      return undefined;
    }
    const check = (): void => {
      // `getJson` updates the connectivity state itself, so the result and the error of this call are not needed.
      getJson(toEndpointPath("/info")).catch(() => undefined);
    };
    // Check once early, because perhaps only a single connection failed.
    const firstCheck = setTimeout(check, firstCheckMs);
    const timer = setInterval(check, checkIntervalMs);
    return () => {
      clearTimeout(firstCheck);
      clearInterval(timer);
      void queryClient.invalidateQueries();
    };
  }, [isOffline, queryClient]);
  return (
    <output className="banner" hidden={!isOffline}>
      {isOffline && "The server is not responding. The UI reconnects automatically."}
    </output>
  );
};

/** Whether a query's displayed data could not be refreshed. Failures to load more rows are shown in the list itself. */
const isStale = (query: Query): boolean => {
  const { data, error, fetchMeta } = query.state;
  return (
    data !== undefined &&
    error !== null &&
    fetchMeta?.fetchMore === undefined &&
    staleKinds.has(describeFailure(error, { isSingleResource: false }).kind) &&
    query.isActive()
  );
};

/** The kinds of failure that {@link StaleBanner} reports: all except a lost connection and a rejected request. */
const staleKinds: ReadonlySet<string> = new Set(["failed", "malformed", "timeout"]);

/** Warns that displayed data may be outdated because it could not be refreshed. */
export const StaleBanner = () => {
  const queryClient = useQueryClient();
  const cache = queryClient.getQueryCache();
  const subscribe = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const reason = useSyncExternalStore(
    subscribe,
    () => cache.getAll().find(isStale)?.state.error?.message,
  );
  return (
    <output className="banner" hidden={reason === undefined}>
      {reason !== undefined && (
        <>
          Some data may be outdated: {toVisibleText(reason)}{" "}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => void queryClient.refetchQueries({ predicate: isStale })}
          >
            Try again
          </Button>
        </>
      )}
    </output>
  );
};

const diskCheckIntervalMs = 15_000;

/** Whether the server accepts only deletions because its disk is full. */
const readOnlyQuery = queryOptions({
  queryKey: ["read-only"],
  queryFn: async ({ signal }): Promise<boolean> => {
    const info = (await getJson(toEndpointPath("/info"), signal)) as Readonly<
      Record<string, unknown>
    >;
    return info["read_only"] !== undefined;
  },
  refetchInterval: diskCheckIntervalMs,
});

/** Shows that the server is read-only, and what to do. */
export const ReadOnlyBanner = () => {
  const { data: isReadOnly = false } = useQuery(readOnlyQuery);
  return (
    <output className="banner" hidden={!isReadOnly}>
      {isReadOnly &&
        "The server's disk is full. New data is not stored. Delete projects or datasets, or free disk space."}
    </output>
  );
};
