import { Button, Textarea } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLink } from "../../components/table/data-table.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { RunTypeBadge, StatusBadge } from "../runs/run-badges.tsx";
import { queuedRunsQuery, removeQueueRun, addQueueRuns } from "./queries.ts";
import { parseRunIds } from "./queue.ts";
import type { Queue, QueuedRun } from "./queue.ts";

const namesOf = (run: QueuedRun, has: "doneMs" | "claimedUntilMs"): string =>
  run.reviews
    .filter((review) => review[has] !== undefined)
    .map(({ reviewer }) => (reviewer === "" ? "API" : toVisibleText(reviewer)))
    .join(", ");

const columns: readonly Column<QueuedRun>[] = [
  {
    id: "name",
    title: "Run",
    cell: ({ name }) => toVisibleText(name),
    width: 160,
    grow: 2,
    isFixed: true,
    isNarrow: true,
  },
  { id: "type", title: "Type", cell: ({ runType }) => <RunTypeBadge type={runType} />, width: 96 },
  {
    id: "status",
    title: "Status",
    cell: ({ status }) => <StatusBadge status={status} />,
    width: 84,
  },
  {
    id: "review",
    title: "Review",
    cell: ({ isCompleted }) => (isCompleted ? "Done" : "Open"),
    width: 76,
    isNarrow: true,
  },
  { id: "by", title: "Done by", cell: (run) => namesOf(run, "doneMs"), width: 120, grow: 1 },
  { id: "now", title: "With", cell: (run) => namesOf(run, "claimedUntilMs"), width: 120, grow: 1 },
  {
    id: "added",
    title: "Added",
    cell: ({ addedMs }) => (addedMs === undefined ? "" : <Ago at={addedMs} />),
    width: 96,
  },
];

/** A row leads to its review. */
const toLink = (tenantId: string, queueId: string) =>
  function link({ id }: QueuedRun, part: RowLink) {
    return (
      <Link
        to="/o/$tenantId/annotation-queues/$queueId"
        params={{ tenantId, queueId }}
        search={{ run: id }}
        {...part}
      />
    );
  };

/** The runs of a queue in its order; to add some, and to take some out. */
export const QueueRuns = ({
  queue,
  tenantId,
}: {
  readonly queue: Queue;
  readonly tenantId: string;
}) => {
  const client = useQueryClient();
  const pages = useInfiniteQuery(queuedRunsQuery(queue.id));
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<"add" | "remove">();
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: ["queues", queue.id] });
  const words = pluralize(selection.size, "run");
  return (
    <>
      <div className="heading">
        <span>{selection.size === 0 ? "" : `${words} selected`}</span>
        <div className="tools">
          <Button
            size="xs"
            variant="default"
            disabled={selection.size === 0}
            onClick={() => setDialog("remove")}
          >
            Remove
          </Button>
          <Button size="xs" onClick={() => setDialog("add")}>
            Add runs
          </Button>
        </div>
      </div>
      <DataTable
        what="runs of the queue"
        rows={pages.data?.pages.flat()}
        rowId={({ id }) => id}
        columns={columns}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        selection={selection}
        onSelection={setSelection}
        link={toLink(tenantId, queue.id)}
        empty={<Empty title="No run in this queue yet." />}
      />
      {dialog === "add" && (
        <AddRuns queueId={queue.id} onAdded={refresh} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "remove" && (
        <Confirm
          title={`Take ${words} out of the queue?`}
          action={`Remove ${words}`}
          onClose={() => setDialog(undefined)}
          onConfirm={async () => {
            await Promise.all([...selection].map(async (id) => removeQueueRun(queue.id, id)));
            setSelection(new Set());
            await refresh();
          }}
        >
          <p>The runs themselves stay, and the feedback on them.</p>
        </Confirm>
      )}
    </>
  );
};

/** Puts runs into a queue, by their ids or addresses. */
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
  const ids = parseRunIds(text);
  return (
    <DialogForm
      title="Add runs"
      action={`Add ${pluralize(ids.length, "run")}`}
      isDisabled={ids.length === 0}
      onSubmit={async () => {
        await addQueueRuns(queueId, ids);
        await onAdded();
      }}
      onClose={onClose}
    >
      <Textarea
        label="Ids or addresses of runs"
        description="One after the other; what is around them is passed over."
        rows={6}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </DialogForm>
  );
};
