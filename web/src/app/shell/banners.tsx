import { Button } from "@mantine/core";
import { useQueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import type { Query } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore, useCallback } from "react";
import { subscribeToConnectivity, readIsOffline } from "../../api/connectivity.ts";
import { endpointPath } from "../../api/endpoint-path.ts";
import { describeFailure } from "../../api/failure.ts";
import { getJson } from "../../api/http.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

const askFirstMs = 300;
const askAgainMs = 2_000;

/** Shows that the server does not respond, checks for it, and reloads what failed when it is back. */
export const OfflineBanner = () => {
  const isOffline = useSyncExternalStore(subscribeToConnectivity, readIsOffline);
  const queryClient = useQueryClient();
  useEffect(() => {
    if (!isOffline) {
      return undefined;
    }
    const ask = (): void => {
      // That it does not answer yet is known; that it does is noted where the answer comes in.
      getJson(endpointPath("/info")).catch(() => undefined);
    };
    // It may have been one connection that broke.
    const soon = setTimeout(ask, askFirstMs);
    const timer = setInterval(ask, askAgainMs);
    return () => {
      clearTimeout(soon);
      clearInterval(timer);
      void queryClient.invalidateQueries();
    };
  }, [isOffline, queryClient]);
  return (
    <output className="banner" hidden={!isOffline}>
      {isOffline && "The server does not answer. This page goes on by itself when it is back."}
    </output>
  );
};

/** Data on the page could not be refreshed. Further pages of a list report their failure in the list. */
const isStale = (query: Query): boolean => {
  const { data, error, fetchMeta } = query.state;
  return (
    data !== undefined &&
    error !== null &&
    fetchMeta?.fetchMore === undefined &&
    kinds.has(describeFailure(error, { isOne: false }).kind) &&
    query.isActive()
  );
};

/** The offline banner reports a missing server, and the view reports a refusal. */
const kinds: ReadonlySet<string> = new Set(["failed", "malformed", "timeout"]);

/** Shows that the data on the page may be stale, since refreshing it fails. */
export const StaleBanner = () => {
  const queryClient = useQueryClient();
  const cache = queryClient.getQueryCache();
  const listen = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const reason = useSyncExternalStore(
    listen,
    () => cache.getAll().find(isStale)?.state.error?.message,
  );
  return (
    <output className="banner" hidden={reason === undefined}>
      {reason !== undefined && (
        <>
          Parts of this page could not be read again, and may be old: {toVisibleText(reason)}{" "}
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

const diskCheckMs = 15_000;

/** Whether the server takes only deletions, as its disk is full. */
const readOnlyQuery = queryOptions({
  queryKey: ["read-only"],
  queryFn: async ({ signal }): Promise<boolean> => {
    const info = (await getJson(endpointPath("/info"), signal)) as Readonly<
      Record<string, unknown>
    >;
    return info["read_only"] !== undefined;
  },
  refetchInterval: diskCheckMs,
});

/** Shows that the server is read-only, and what to do. */
export const ReadOnlyBanner = () => {
  const { data: isReadOnly = false } = useQuery(readOnlyQuery);
  return (
    <output className="banner" hidden={!isReadOnly}>
      {isReadOnly &&
        "The server's disk is full: nothing new is stored. Delete projects or datasets, or free disk space."}
    </output>
  );
};
