import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { ReactNode } from "react";
import { subscribeToConnectivity, readIsOffline } from "../../api/connectivity.ts";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { ChunkLoadError } from "../../components/page/load-chunk.ts";
import { Problem } from "../../components/page/states.tsx";

/** Replaces a view that threw an error or whose chunk did not load. The navigation remains usable. */
export const ViewFailure = ({ error, reset }: ErrorComponentProps) =>
  error instanceof ChunkLoadError ? (
    <ChunkNotLoaded />
  ) : (
    <RenderError error={error} onReset={reset} />
  );

const RenderError = ({
  error,
  onReset,
}: {
  readonly error: unknown;
  readonly onReset: () => void;
}) => {
  const queryClient = useQueryClient();
  return (
    <FailedView title="Page error">
      <Problem
        title="Could not show this page"
        message="The server sent an unexpected response, or the UI has a bug."
        detail={error instanceof Error ? error.message : String(error)}
        onRetry={() => {
          // Load the data again: the view may have failed because of it.
          void queryClient.resetQueries();
          onReset();
        }}
      />
    </FailedView>
  );
};

/** A chunk of the UI did not load. Only reloading the page loads it again, which requires the server. */
const ChunkNotLoaded = () => {
  const isOffline = useSyncExternalStore(subscribeToConnectivity, readIsOffline);
  const wasOffline = useRef(false);
  useEffect(() => {
    // This request updates `isOffline`. If the server does not respond, the offline banner repeats the request.
    getJson(toEndpointPath("/info")).catch(() => undefined);
  }, []);
  useEffect(() => {
    if (isOffline) {
      wasOffline.current = true;
    } else if (wasOffline.current) {
      location.reload();
    }
  }, [isOffline]);
  return (
    <FailedView title="Page not loaded">
      <Problem
        title="Could not load this page"
        message={
          isOffline
            ? "The server is not responding. The page reloads when it is back."
            : "The server may have been updated. Reload the page."
        }
        onRetry={async () => {
          // Reload only if the server responds. Otherwise the reload would leave a blank page.
          await getJson(toEndpointPath("/info")).then(
            () => location.reload(),
            () => undefined,
          );
        }}
      />
    </FailedView>
  );
};

const FailedView = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) => (
  <div className="absent-view">
    <title>{`${title} · Millrace`}</title>
    <div className="heading">
      <div>
        <p className="crumbs">
          <Link to="/">Overview</Link>
        </p>
        <h1>{title}</h1>
      </div>
    </div>
    {children}
  </div>
);
