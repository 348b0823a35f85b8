import { TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { Empty } from "../../components/page/states.tsx";
import { maxSortedRows, useCompleteSort } from "../../components/table/complete-sort.ts";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLinkProps } from "../../components/table/data-table.tsx";
import { SortNotice } from "../../components/table/sort-notice.tsx";
import { removeRepeatedRows } from "../../components/table/repeated-rows.ts";
import { ProjectPageHead } from "../projects/project-page-head.tsx";
import { createThreadsQuery } from "./queries.ts";
import { createThreadColumns, renderThreadDetail } from "./thread-columns.tsx";
import type { ThreadItem } from "./thread-item.ts";
import { createCostFormat } from "../../components/text/cost.ts";
import "./threads.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/threads");

/** The page `/o/{tenantId}/projects/p/{projectId}/threads`, which lists the conversations of a project. */
export const Threads = () => {
  const { tenantId, projectId } = route.useParams();
  const { q = "", ...sortSearch } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(createThreadsQuery(projectId, q));
  const threads = useMemo(
    () => pages.data && removeRepeatedRows(pages.data.pages.flatMap(({ items }) => items)),
    [pages.data],
  );
  const formatCost = createCostFormat(threads?.flatMap(({ cost }) => cost ?? []) ?? []);
  const threadColumns = useMemo(() => createThreadColumns(formatCost), [formatCost]);
  const sorting = useCompleteSort({
    pages,
    rows: threads,
    listKey: `${projectId} ${q}`,
    columns: threadColumns,
    search: sortSearch,
  });
  const searchField = useSearchShortcut("Search threads");
  return (
    <div className="fill">
      <title>Threads · Millrace</title>
      <ProjectPageHead address={{ tenantId, projectId }} title="Threads">
        <TextInput
          ref={searchField}
          size="xs"
          type="search"
          aria-label="Search by thread ID"
          placeholder="Thread ID"
          value={q}
          onChange={({ currentTarget: { value } }) =>
            void navigate({
              search: { ...sortSearch, ...(value === "" ? {} : { q: value }) },
              replace: true,
            })
          }
        />
      </ProjectPageHead>
      <SortNotice resourceName="threads" sorting={sorting} error={pages.error}>
        There are too many threads to sort by a column. Search by thread ID, so that at most{" "}
        {maxSortedRows.toLocaleString("en")} match.
      </SortNotice>
      <DataTable
        resourceName="threads"
        rows={sorting.rows}
        sort={sorting.sort}
        onSort={({ column, order }) =>
          void navigate({
            search: (current) => ({ ...current, sort: column, order }),
            replace: true,
          })
        }
        getRowId={({ id }) => id}
        columns={sorting.columns}
        renderNarrowDetail={renderThreadDetail}
        error={pages.error}
        onRetry={pages.refetch}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        renderLink={({ id }: ThreadItem, linkProps: RowLinkProps) => (
          <Link
            to="/o/$tenantId/projects/p/$projectId/thread"
            params={{ tenantId, projectId }}
            search={{ id }}
            {...linkProps}
          />
        )}
        emptyState={<NoThreads isSearch={q !== ""} />}
        footer={
          pages.data?.pages.some(({ isPartial }) => isPartial) === true && (
            <p className="note thread-note">
              Some older runs could not be searched. The list may be incomplete.
            </p>
          )
        }
      />
    </div>
  );
};

const NoThreads = ({ isSearch }: { readonly isSearch: boolean }) =>
  isSearch ? (
    <Empty title="No matches" />
  ) : (
    <Empty title="No threads yet">
      <p>
        Traces with the same <code>thread_id</code>, <code>session_id</code>,{" "}
        <code>conversation_id</code> or <code>langfuse_session_id</code> in their metadata form a
        thread.
      </p>
    </Empty>
  );
