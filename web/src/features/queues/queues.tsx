import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { usePersonName } from "../../components/text/person-name.ts";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { CopyText } from "../../components/code/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { ProgressBar } from "./progress-bar.tsx";
import { createQueuesQuery } from "./queries.ts";
import { QueueForm } from "./queue-form.tsx";
import type { ListedQueue } from "./queue.ts";
import "./queues.css";

const route = getRouteApi("/o/$tenantId/annotation-queues");

const columns: readonly Column<ListedQueue>[] = [
  {
    id: "name",
    title: "Name",
    renderCell: ({ name }) => toVisibleText(name),
    width: 180,
    grow: 2,
    isFixed: true,
    isShownWhenNarrow: true,
  },
  {
    id: "progress",
    title: "Progress",
    renderCell: ({ progress }) => <ProgressBar progress={progress} hasText={false} />,
    width: 120,
    grow: 1,
  },
  {
    id: "done",
    title: "Done",
    renderCell: ({ progress: { completed, total } }) =>
      `${completed.toLocaleString("en")} / ${total.toLocaleString("en")}`,
    width: 96,
    align: "end",
    isShownWhenNarrow: true,
  },
  {
    id: "mine",
    title: "By you",
    renderCell: ({ progress }) => progress.mine.toLocaleString("en"),
    width: 72,
    align: "end",
  },
  {
    id: "now",
    title: "Reviewing now",
    renderCell: ({ progress: { reviewers } }) =>
      reviewers
        .filter(({ claimedCount }) => claimedCount > 0)
        .map(({ name }) => toVisibleText(name))
        .join(", "),
    width: 140,
    grow: 1,
  },
  {
    id: "created",
    title: "Created",
    renderCell: ({ createdMs }) => (createdMs === undefined ? "" : <Ago timeMs={createdMs} />),
    width: 96,
  },
];

/** Links a row to its queue. */
const createLinkRenderer = (tenantId: string) =>
  function renderLink({ id }: ListedQueue, linkProps: RowLinkProps) {
    return (
      <Link
        to="/o/$tenantId/annotation-queues/$queueId"
        params={{ tenantId, queueId: id }}
        {...linkProps}
      />
    );
  };

/** The page `/o/{tenantId}/annotation-queues`, which lists the queues with their progress. */
export const Queues = () => {
  const { tenantId } = route.useParams();
  const { name } = route.useSearch();
  const navigate = useNavigate();
  const [reviewer] = usePersonName();
  const [isFormOpen, setIsFormOpen] = useState(false);
  const searchField = useSearchShortcut("Search queues by name");
  const pages = useInfiniteQuery(createQueuesQuery(name, reviewer === "" ? undefined : reviewer));
  return (
    <div className="fill">
      <title>Annotation queues · Millrace</title>
      <div className="heading">
        <h1>Annotation queues</h1>
        <div className="tools">
          <TextInput
            ref={searchField}
            size="xs"
            type="search"
            aria-label="Search queues by name"
            placeholder="Search names"
            value={name ?? ""}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                to: ".",
                search: value === "" ? {} : { name: value },
                replace: true,
              })
            }
          />
          <Button size="xs" onClick={() => setIsFormOpen(true)}>
            New queue
          </Button>
        </div>
      </div>
      <DataTable
        resourceName="annotation queues"
        rows={pages.data?.pages.flat()}
        getRowId={({ id }) => id}
        columns={columns}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        renderLink={createLinkRenderer(tenantId)}
        emptyState={<NoQueues isSearched={name !== undefined} />}
      />
      {isFormOpen && (
        <QueueForm
          onClose={() => setIsFormOpen(false)}
          onSaved={({ id }) =>
            void navigate({
              to: "/o/$tenantId/annotation-queues/$queueId",
              params: { tenantId, queueId: id },
            })
          }
        />
      )}
    </div>
  );
};

const sdkExample = `const queue = await client.annotationQueues.create({ name: "doubtful answers" });
await client.annotationQueues.addRuns(queue.id, { runIds });`;

const NoQueues = ({ isSearched }: { readonly isSearched: boolean }) =>
  isSearched ? (
    <Empty title="No matching queues" />
  ) : (
    <Empty title="No annotation queues yet">
      <p>An annotation queue is a list of runs that people review one by one.</p>
      <CopyText label="Create a queue with the SDK" text={sdkExample} language="ts" />
    </Empty>
  );
