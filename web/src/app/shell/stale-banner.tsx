import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { Query } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { toFailing } from "../../api/failure.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";

/** What is on the page could not be read again. More of a list is another matter: the list says so. */
const isStale = (query: Query): boolean => {
  const { data, error, fetchMeta } = query.state;
  return (
    data !== undefined &&
    error !== null &&
    fetchMeta?.fetchMore === undefined &&
    kinds.has(toFailing(error, { isOne: false }).kind) &&
    query.isActive()
  );
};

/** Of a server that is gone another banner tells, of a refusal the view. */
const kinds: ReadonlySet<string> = new Set(["failed", "garbled", "late"]);

/** Says that what the page shows may be old, since the server fails to tell it again. */
export const StaleBanner = () => {
  const queryClient = useQueryClient();
  const cache = queryClient.getQueryCache();
  const listen = useCallback((listener: () => void) => cache.subscribe(listener), [cache]);
  const reason = useSyncExternalStore(
    listen,
    () => cache.getAll().find(isStale)?.state.error?.message,
  );
  return (
    <output className="gone" hidden={reason === undefined}>
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
