import { Button, Textarea } from "@mantine/core";
import { useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { RunTypeBadge, StatusBadge } from "../runs/run-badges.tsx";
import { RunPreview } from "../runs/run-columns.tsx";
import type { RunItem } from "../runs/run-item.ts";
import { createRunItemsQuery, previewFields } from "../runs/queries.ts";
import { createQueuedRunsQuery, removeQueueRun, addQueueRuns } from "./queries.ts";
import { parseRunIds } from "./queue.ts";
import type { Queue, QueuedRun } from "./queue.ts";

const joinReviewerNames = (run: QueuedRun, timeField: "doneMs" | "claimedUntilMs"): string =>
  run.reviews
    .filter((review) => review[timeField] !== undefined)
    .map(({ reviewer }) => (reviewer === "" ? "API" : toVisibleText(reviewer)))
    .join(", ");

/** A run of the queue with a preview of its inputs and outputs; `undefined` until the preview is loaded. */
interface PreviewedRun extends QueuedRun {
  readonly preview: RunItem | undefined;
}

const columns: readonly Column<PreviewedRun>[] = [
  {
    id: "name",
    title: "Run",
    renderCell: ({ name }) => toVisibleText(name),
    width: 160,
    grow: 2,
    isFixed: true,
    isShownWhenNarrow: true,
  },
  {
    id: "preview",
    title: "Input → output",
    renderCell: (run) => <QueuedRunPreview run={run} />,
    width: 180,
    grow: 5,
  },
  {
    id: "type",
    title: "Type",
    renderCell: ({ runType }) => <RunTypeBadge type={runType} />,
    width: 96,
  },
  {
    id: "status",
    title: "Status",
    renderCell: ({ status }) => <StatusBadge status={status} isCompact />,
    width: 84,
  },
  {
    id: "review",
    title: "Review",
    renderCell: ({ isCompleted }) => (isCompleted ? "Done" : "Open"),
    width: 76,
    isShownWhenNarrow: true,
  },
  {
    id: "by",
    title: "Reviewed by",
    renderCell: (run) => joinReviewerNames(run, "doneMs"),
    width: 120,
    grow: 1,
  },
  {
    id: "now",
    title: "Claimed by",
    renderCell: (run) => joinReviewerNames(run, "claimedUntilMs"),
    width: 120,
    grow: 1,
  },
  {
    id: "added",
    title: "Added",
    renderCell: ({ addedMs }) => (addedMs === undefined ? "" : <Ago timeMs={addedMs} />),
    width: 96,
  },
];

const QueuedRunPreview = ({ run: { preview } }: { readonly run: PreviewedRun }) =>
  preview === undefined ? null : <RunPreview run={preview} />;

/** A preview of a run, its reviewers and when it was added: for narrow screens, which show few columns. */
const renderQueuedRunDetail = (run: PreviewedRun) => (
  <>
    <QueuedRunPreview run={run} />
    <span className="quiet">
      {run.addedMs !== undefined && (
        <>
          Added <Ago timeMs={run.addedMs} />
        </>
      )}
      {joinReviewerNames(run, "doneMs") !== "" &&
        ` · Reviewed by ${joinReviewerNames(run, "doneMs")}`}
      {joinReviewerNames(run, "claimedUntilMs") !== "" &&
        ` · Claimed by ${joinReviewerNames(run, "claimedUntilMs")}`}
    </span>
  </>
);

/** Links a row to the review of its run. */
const createLinkRenderer = (tenantId: string, queueId: string) =>
  function renderLink({ id }: PreviewedRun, linkProps: RowLinkProps) {
    return (
      <Link
        to="/o/$tenantId/annotation-queues/$queueId"
        params={{ tenantId, queueId }}
        search={{ run: id }}
        {...linkProps}
      />
    );
  };

/** The runs of a queue in queue order, with actions to add and remove runs. */
export const QueueRuns = ({
  queue,
  tenantId,
}: {
  readonly queue: Queue;
  readonly tenantId: string;
}) => {
  const client = useQueryClient();
  const pages = useInfiniteQuery(createQueuedRunsQuery(queue.id));
  const runs = usePreviewedRuns(pages.data?.pages);
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<"add" | "remove">();
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: ["queues", queue.id] });
  const selectedRunsText = pluralize(selection.size, "run");
  return (
    <>
      <div className="heading">
        <span>{selection.size === 0 ? "" : `${selectedRunsText} selected`}</span>
        <div className="tools">
          <Button
            size="xs"
            variant="default"
            disabled={selection.size === 0}
            onClick={() => setDialog("remove")}
          >
            Remove selected
          </Button>
          <Button size="xs" onClick={() => setDialog("add")}>
            Add runs
          </Button>
        </div>
      </div>
      <DataTable
        resourceName="runs in the queue"
        rows={runs}
        getRowId={({ id }) => id}
        columns={columns}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        selection={selection}
        onSelection={setSelection}
        renderLink={createLinkRenderer(tenantId, queue.id)}
        renderNarrowDetail={renderQueuedRunDetail}
        emptyState={<Empty title="No runs in this queue yet" />}
      />
      {dialog === "add" && (
        <AddRuns queueId={queue.id} onAdded={refresh} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "remove" && (
        <Confirm
          title={`Remove ${selectedRunsText} from the queue?`}
          action={`Remove ${selectedRunsText}`}
          onClose={() => setDialog(undefined)}
          onConfirm={async () => {
            await Promise.all([...selection].map(async (id) => removeQueueRun(queue.id, id)));
            setSelection(new Set());
            await refresh();
          }}
        >
          <p>The runs and their feedback are kept.</p>
        </Confirm>
      )}
    </>
  );
};

/** Adds previews to the runs of each page, with one request for each project that the page contains. */
function usePreviewedRuns(
  pages: readonly (readonly QueuedRun[])[] | undefined,
): readonly PreviewedRun[] | undefined {
  const previews = useQueries({
    queries: (pages ?? []).flatMap((page) =>
      [...new Set(page.map(({ projectId }) => projectId))].map((id) =>
        createRunItemsQuery(
          id,
          page.filter(({ projectId }) => projectId === id).map(({ runId }) => runId),
          previewFields,
        ),
      ),
    ),
    combine: combinePreviews,
  });
  return useMemo(
    () => pages?.flat().map((run) => ({ ...run, preview: previews.get(run.runId) })),
    [pages, previews],
  );
}

const combinePreviews = (
  results: readonly { readonly data?: readonly RunItem[] | undefined }[],
): ReadonlyMap<string, RunItem> =>
  new Map(results.flatMap(({ data = [] }) => data.map((item) => [item.id, item])));

/** A dialog that adds runs to a queue by their ids or URLs. */
const AddRuns = ({
  queueId,
  onAdded,
  onClose,
}: {
  readonly queueId: string;
  readonly onAdded: () => Promise<void>;
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const runIds = parseRunIds(text);
  return (
    <DialogForm
      title="Add runs"
      action={`Add ${pluralize(runIds.length, "run")}`}
      isDisabled={runIds.length === 0}
      onSubmit={async () => {
        await addQueueRuns(queueId, runIds);
        await onAdded();
      }}
      onClose={onClose}
    >
      <Textarea
        label="Run IDs or URLs"
        description="Separate IDs and URLs by spaces or line breaks. Other text is ignored."
        rows={6}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </DialogForm>
  );
};
