import { TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLinkProps } from "../../components/table/data-table.tsx";
import { useLoadedSort } from "../../components/table/loaded-sort.ts";
import { ProjectPageHead } from "../projects/project-page-head.tsx";
import { createThreadsQuery } from "./queries.ts";
import { renderThreadDetail, threadColumns } from "./thread-columns.tsx";
import type { ThreadItem } from "./thread-item.ts";
import "./threads.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/threads");

/** The page `/o/{tenantId}/projects/p/{projectId}/threads`, which lists the conversations of a project. */
export const Threads = () => {
  const { tenantId, projectId } = route.useParams();
  const { q = "", ...sortSearch } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(createThreadsQuery(projectId, q));
  const threads = useMemo(
    () => pages.data && removeRepeated(pages.data.pages.flatMap(({ items }) => items)),
    [pages.data],
  );
  const { rows, sort } = useLoadedSort(threads, threadColumns, sortSearch);
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
      <DataTable
        resourceName="threads"
        rows={rows}
        sort={sort}
        onSort={({ column, order }) =>
          void navigate({
            search: (current) => ({ ...current, sort: column, order }),
            replace: true,
          })
        }
        getRowId={({ id }) => id}
        columns={threadColumns}
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
          <>
            {pages.hasNextPage && sort !== undefined && (
              <p className="note thread-note">Only the loaded threads are sorted.</p>
            )}
            {pages.data?.pages.some(({ isPartial }) => isPartial) === true && (
              <p className="note thread-note">
                Some older runs could not be searched. The list may be incomplete.
              </p>
            )}
          </>
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

/** Removes the second row of a thread that moved to another page between two requests. */
function removeRepeated(threads: readonly ThreadItem[]): readonly ThreadItem[] {
  const ids = new Set<string>();
  return threads.filter(({ id }) => !ids.has(id) && ids.add(id));
}
