import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createProjectQuery } from "../projects/queries.ts";
import { createTurnsQuery } from "./queries.ts";
import type { TurnItem } from "./thread-item.ts";
import { TurnList } from "./turn-list.tsx";
import "./threads.css";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId/thread");

/** The page `/o/{tenantId}/projects/p/{projectId}/thread?id=…`, which shows one conversation as a chat. */
export const ThreadPage = () => {
  const { tenantId, projectId } = route.useParams();
  const { id = "" } = route.useSearch();
  const { data: project } = useQuery(createProjectQuery(projectId));
  const address = { tenantId, projectId };
  return (
    <div className="fill">
      <title>{`${toVisibleText(id === "" ? "Thread" : id)} · Millrace`}</title>
      <div className="heading">
        <div>
          <p className="crumbs">
            <Link to="/o/$tenantId/projects/p/$projectId" params={address} search={{}}>
              {toVisibleText(project?.name ?? "Project")}
            </Link>{" "}
            /{" "}
            <Link to="/o/$tenantId/projects/p/$projectId/threads" params={address} search={{}}>
              Threads
            </Link>
          </p>
          <h1>
            <bdi>{toVisibleText(id === "" ? "Thread" : id)}</bdi>
          </h1>
        </div>
      </div>
      {id === "" ? (
        <Empty title="No thread is selected" />
      ) : (
        <Conversation key={id} threadId={id} address={address} />
      )}
    </div>
  );
};

const Conversation = ({
  threadId,
  address,
}: {
  readonly threadId: string;
  readonly address: { readonly tenantId: string; readonly projectId: string };
}) => {
  const pages = useInfiniteQuery(createTurnsQuery(address.projectId, threadId));
  const turns = useMemo(() => pages.data?.pages.flatMap((page) => page.turns), [pages.data]);
  const lastPage = pages.data?.pages.at(-1);
  if (turns === undefined || lastPage === undefined) {
    return pages.error === null ? (
      <Loading resourceName="the thread" />
    ) : (
      <Failure resourceName="the thread" error={pages.error} onRetry={pages.refetch} />
    );
  }
  if (turns.length === 0) {
    return (
      <Empty title="No turns">
        <p>No run of this project has this thread ID. The thread may have been deleted.</p>
      </Empty>
    );
  }
  return (
    <>
      <p className="summary thread-summary">
        {describeThread(turns, lastPage.turnCount).map((text) => (
          <span key={text}>{text}</span>
        ))}
        {lastPage.isTruncated && <span>Older turns are not shown</span>}
      </p>
      <TurnList
        turns={turns}
        threadId={threadId}
        address={address}
        hasMore={pages.hasNextPage}
        error={pages.error}
        onLoadMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
      />
    </>
  );
};

/** Describes the whole thread. While some turns are not loaded, only the number of turns is known. */
function describeThread(turns: readonly TurnItem[], turnCount: number): readonly string[] {
  const costs = turns.flatMap(({ cost }) => cost ?? []);
  const tokens = turns.reduce((sum, turn) => sum + (turn.tokens ?? 0), 0);
  const isComplete = turns.length >= turnCount;
  return [
    pluralize(turnCount, "turn"),
    ...(isComplete && tokens > 0 ? [pluralize(tokens, "token")] : []),
    ...(isComplete && costs.length > 0
      ? [formatDollars(costs.reduce((sum, cost) => sum + cost, 0))]
      : []),
  ];
}
