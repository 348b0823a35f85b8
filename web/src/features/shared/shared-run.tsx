import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { AbsentView, PageLoading } from "../../components/page/absent-view.tsx";
import { loadChunk } from "../../components/page/load-chunk.ts";
import { Attachments } from "../../components/payload/attachments.tsx";
import type { PayloadMode } from "../../components/payload/payload-mode.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime } from "../../components/time/time.ts";
import { createSharedRunQuery } from "../trace/queries.ts";
import type { TraceRunDetails } from "../trace/queries.ts";
import { createShareQuery } from "./queries.ts";
import { EventsTab } from "../trace/run-panel/events-tab.tsx";
import { MetadataTab } from "../trace/run-panel/metadata-tab.tsx";
import { RunData } from "../trace/run-panel/run-data.tsx";
import { RunHead } from "../trace/run-panel/run-head.tsx";
import "../trace/trace.css";

const route = getRouteApi("/public/$token/r");

const SharedTrace = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./shared-trace.tsx")).SharedTrace })),
);

/** The page `/public/{token}/r`: a shared run or a shared trace, for everyone with the link. */
export const SharedRun = () => {
  const { token } = route.useParams();
  const { data: share, error, refetch } = useQuery(createShareQuery(token));
  if (share === undefined) {
    return <AbsentRun error={error} onRetry={refetch} />;
  }
  return share.kind === "run" ? (
    <SingleRun token={token} />
  ) : (
    <Suspense fallback={<PageLoading />}>
      <SharedTrace token={token} traceId={share.runId} />
    </Suspense>
  );
};

const AbsentRun = (props: { readonly error: Error | null; readonly onRetry: () => unknown }) => (
  <AbsentView
    title="Shared run"
    resourceName="the shared run"
    missingMessage="The run may no longer be shared, or the link is incomplete."
    {...props}
  />
);

/** A run that is shared without the other runs of its trace. */
const SingleRun = ({ token }: { readonly token: string }) => {
  const { data: run, error, refetch } = useQuery(createSharedRunQuery(token));
  if (run === undefined) {
    return <AbsentRun error={error} onRetry={refetch} />;
  }
  return (
    <div className="page panel shared-run">
      <title>{`${toVisibleText(run.name.slice(0, 200))} · Millrace`}</title>
      <RunHead details={run} />
      <p className="absent">Shared run, recorded {formatTime(run.startMs)}</p>
      <RunTabs run={run} />
    </div>
  );
};

const RunTabs = ({ run }: { readonly run: TraceRunDetails }) => {
  const [payloadMode, setPayloadMode] = useState<PayloadMode>();
  return (
    <Tabs defaultValue="data" keepMounted={false}>
      <Tabs.List className="panel-tabs">
        <Tabs.Tab value="data">Data</Tabs.Tab>
        <Tabs.Tab value="events">Events</Tabs.Tab>
        <Tabs.Tab value="metadata">Metadata</Tabs.Tab>
        {run.files.length > 0 && <Tabs.Tab value="files">Files</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="data">
        <RunData details={run} payloadMode={payloadMode} onView={setPayloadMode} />
      </Tabs.Panel>
      <Tabs.Panel value="events">
        <EventsTab details={run} />
      </Tabs.Panel>
      <Tabs.Panel value="metadata">
        <MetadataTab details={run} />
      </Tabs.Panel>
      <Tabs.Panel value="files">
        <Attachments files={run.files} />
      </Tabs.Panel>
    </Tabs>
  );
};
