import { Tabs } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useRef } from "react";
import { useCommands } from "../../../components/keyboard/commands.ts";
import type { Command } from "../../../components/keyboard/commands.ts";
import { loadChunk } from "../../../components/page/load-chunk.ts";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { Attachments } from "../../../components/payload/attachments.tsx";
import { useTextHighlight } from "../../../components/text/use-text-highlight.ts";
import { createSourceRunQuery } from "../queries.ts";
import type { TraceRunDetails, TraceSource } from "../queries.ts";
import { referenceName, traceTabs } from "../trace-search.ts";
import type { TraceSearch, TraceTab } from "../trace-search.ts";
import type { TraceChange } from "../use-trace-address.ts";
import type { TraceView } from "../use-trace-view.ts";
import { EventsTab } from "./events-tab.tsx";
import { createRunFeedbackQuery } from "./feedback-queries.ts";
import { FeedbackTab } from "./feedback-tab.tsx";
import { MetadataTab } from "./metadata-tab.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunData } from "./run-data.tsx";
import { RunHead } from "./run-head.tsx";
import { RunTabList } from "./run-tab-list.tsx";
import { TimingTab } from "./timing-tab.tsx";

const DiffTab = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./diff-tab.tsx")).DiffTab })),
);
const Comments = lazy(async () =>
  loadChunk(async () => ({ default: (await import("../../comments/comments.tsx")).Comments })),
);
const CodeTab = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./code-tab.tsx")).CodeTab })),
);
const RenderedPrompt = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./rendered-prompt.tsx")).RenderedPrompt })),
);

/**
 * How long a run must stay selected, in milliseconds, before its details are loaded. Because of this delay, stepping
 * through the tree loads few runs.
 */
const selectionDelayMs = 120;

interface RunPanelProps {
  readonly runId: string;
  readonly view: TraceView;
  /** The index of the run in the trace model. */
  readonly runIndex: number;
  readonly search: TraceSearch;
  readonly change: (change: TraceChange) => void;
  readonly source: TraceSource;
}

/** The panel with the details of the selected run. */
export const RunPanel = (props: RunPanelProps) => {
  const [runId] = useDebouncedValue(props.runId, selectionDelayMs, { leading: true });
  const { data: details, error, refetch } = useQuery(createSourceRunQuery(props.source, runId));
  const panel = useRef<HTMLElement>(null);
  useTextHighlight(panel, props.search.find ?? "");
  return (
    <section className="panel" aria-label="Selected run" ref={panel}>
      {details === undefined && <h1>Run</h1>}
      {details === undefined && error === null && <Loading resourceName="the run" />}
      {details === undefined && error !== null && (
        <Failure resourceName="the run" error={error} onRetry={refetch} isSingleResource />
      )}
      {details !== undefined && <RunTabs key={details.id} {...props} details={details} />}
    </section>
  );
};

const tabLabels: { readonly [Tab in TraceTab]: string } = {
  data: "Data",
  events: "Events",
  metadata: "Metadata",
  feedback: "Feedback",
  comments: "Comments",
  files: "Files",
  timing: "Timing",
  diff: "Compare",
  code: "Code",
};

/** The tabs of a run in a shared trace. They need no data other than the run. */
const sharedTabs: readonly TraceTab[] = ["data", "events", "metadata", "files", "timing"];

const RunTabs = (props: RunPanelProps & { readonly details: TraceRunDetails }) => {
  const { details, search, change, source } = props;
  const { data: feedback } = useQuery({
    ...createRunFeedbackQuery(details.id),
    enabled: source.kind === "project",
  });
  const tabs = source.kind === "project" ? traceTabs : sharedTabs;
  const requestedTab = search.panel ?? "data";
  const openTab = tabs.includes(requestedTab) ? requestedTab : "data";
  const counts: { readonly [Tab in TraceTab]?: number } = {
    events: details.events.length,
    files: details.files.length,
    feedback: feedback?.length ?? 0,
    comments: props.view.commentCounts.get(details.id) ?? 0,
  };
  useReferenceShortcut(props);
  const onTab = (tab: string | null): void => {
    const panel = tabs.find((name) => name === tab);
    change({ panel: panel === "data" ? undefined : panel });
  };
  return (
    <>
      <RunHead details={details} />
      {source.kind === "project" && <RunActions address={source.address} details={details} />}
      <Tabs value={openTab} onChange={onTab} keepMounted={false}>
        <RunTabList openTab={openTab}>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {tabLabels[tab]}
              {(counts[tab] ?? 0) > 0 && <small> {counts[tab]?.toLocaleString("en")}</small>}
            </Tabs.Tab>
          ))}
        </RunTabList>
        {tabs.map((tab) => (
          <Tabs.Panel key={tab} value={tab}>
            <Suspense fallback={<Loading resourceName={tabLabels[tab]} />}>
              <TabContent {...props} tab={tab} />
            </Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
};

/**
 * Registers a key that compares the run's outputs with the reference outputs of its example. Pressing the key again
 * shows the run's data.
 */
function useReferenceShortcut({
  details,
  search,
  change,
}: RunPanelProps & { readonly details: TraceRunDetails }): void {
  const isShown = search.panel === "diff" && search.vs === referenceName;
  const hasReference = details.referenceExampleId !== undefined;
  const commands = useMemo(
    (): readonly Command[] =>
      hasReference
        ? [
            {
              id: "trace-reference",
              group: "This page",
              label: "Compare with reference outputs",
              keys: "r",
              run: () =>
                change(
                  isShown
                    ? { panel: undefined, vs: undefined }
                    : { panel: "diff", vs: referenceName },
                ),
            },
          ]
        : [],
    [hasReference, isShown, change],
  );
  useCommands(commands);
}

const TabContent = ({
  tab,
  details,
  view,
  runIndex: run,
  search,
  change,
  source,
}: RunPanelProps & { readonly details: TraceRunDetails; readonly tab: TraceTab }) => {
  switch (tab) {
    case "data":
      return (
        <RunData details={details} payloadMode={search.as} onView={(mode) => change({ as: mode })}>
          {source.kind === "project" && (
            <Suspense fallback={null}>
              <RenderedPrompt details={details} model={view.model} runIndex={run} />
            </Suspense>
          )}
        </RunData>
      );
    case "events":
      return <EventsTab details={details} />;
    case "metadata":
      return <MetadataTab details={details} />;
    case "feedback":
      return <FeedbackTab runId={details.id} />;
    case "comments":
      return <Comments target={{ kind: "run", id: details.id }} />;
    case "files":
      return details.files.length === 0 ? (
        <p className="absent">No attachments</p>
      ) : (
        <Attachments files={details.files} />
      );
    case "timing":
      return <TimingTab details={details} view={view} runIndex={run} />;
    case "diff":
      return (
        <DiffTab
          details={details}
          view={view}
          runIndex={run}
          otherId={search.vs}
          onOtherChange={(vs) => change({ vs })}
        />
      );
    case "code":
      return <CodeTab details={details} />;
  }
};
