import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { ReactNode } from "react";
import { subscribeToConnectivity, readIsOffline } from "../../api/connectivity.ts";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson } from "../../api/http.ts";
import { ChunkLoadError } from "../../components/page/load-chunk.ts";
import { Problem } from "../../components/page/states.tsx";

/** Shown in the place of a view that threw, or that did not come; the navigation around it stays. */
export const ViewFailure = ({ error, reset }: ErrorComponentProps) =>
  error instanceof ChunkLoadError ? <NotLoaded /> : <Thrown error={error} onReset={reset} />;

const Thrown = ({ error, onReset }: { readonly error: unknown; readonly onReset: () => void }) => {
  const queryClient = useQueryClient();
  return (
    <FailedView title="This page failed">
      <Problem
        title="Could not show this page"
        message="The server's answer, or the page itself, is not what it should be."
        detail={error instanceof Error ? error.message : String(error)}
        onRetry={() => {
          // What it could not show is asked for anew.
          void queryClient.resetQueries();
          onReset();
        }}
      />
    </FailedView>
  );
};

/** A file of the page is missing: only a reload brings it, and a reload needs the server. */
const NotLoaded = () => {
  const isOffline = useSyncExternalStore(subscribeToConnectivity, readIsOffline);
  const wasOffline = useRef(false);
  useEffect(() => {
    // Reports whether the server responds to this view and to the banner above, which goes on checking.
    getJson(endpointPath("/info")).catch(() => undefined);
  }, []);
  useEffect(() => {
    if (isOffline) {
      wasOffline.current = true;
    } else if (wasOffline.current) {
      location.reload();
    }
  }, [isOffline]);
  return (
    <FailedView title="This page did not load">
      <Problem
        title="Could not load this page"
        message={
          isOffline
            ? "The server does not answer. The page loads by itself when it is back."
            : "The server may have another version of the page by now."
        }
        onRetry={async () => {
          // Without the server a reload would leave nothing of the page.
          await getJson(endpointPath("/info")).then(
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
          <Link to="/">Home</Link>
        </p>
        <h1>{title}</h1>
      </div>
    </div>
    {children}
  </div>
);
