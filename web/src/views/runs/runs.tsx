import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { newestRootsQuery, rootPagesQuery } from "../../api/runs.ts";
import { mergeRuns } from "../../lib/merge-runs.ts";
import { Empty, Failure, Loading } from "../states.tsx";
import type { Place } from "./place.ts";
import { RunTable } from "./run-table.tsx";

/** The traces of a project, newest first; new ones appear while the top of the list is in view. */
export const Runs = ({
  place,
  projectName,
}: {
  readonly place: Place;
  readonly projectName: string;
}) => {
  const [isAtTop, setIsAtTop] = useState(true);
  const { runs, pages, error } = useRoots(place.projectId, isAtTop);
  return (
    <>
      <div className="heading">
        <h1>
          <bdi>{projectName}</bdi>
        </h1>
        <LiveMark error={error} isAtTop={isAtTop} />
      </div>
      {runs === undefined && error === null && <Loading what="traces" />}
      {runs === undefined && error !== null && (
        <Failure what="the traces" error={error} onRetry={pages.refetch} />
      )}
      {runs?.length === 0 && (
        <Empty title="No trace in this project yet.">
          <p>The first one shows here as soon as it arrives.</p>
        </Empty>
      )}
      {runs !== undefined && runs.length > 0 && (
        <RunTable
          runs={runs}
          place={place}
          isComplete={!pages.hasNextPage}
          onTop={setIsAtTop}
          onEnd={() => {
            if (!pages.isFetchingNextPage && pages.hasNextPage) {
              void pages.fetchNextPage();
            }
          }}
        />
      )}
    </>
  );
};

const LiveMark = ({
  error,
  isAtTop,
}: {
  readonly error: Error | null;
  readonly isAtTop: boolean;
}) => {
  if (error !== null) {
    return <span className="live failed">{error.message}</span>;
  }
  return (
    <span className={isAtTop ? "live on" : "live"}>
      {isAtTop ? "Live" : "Paused while you scroll"}
    </span>
  );
};

function useRoots(projectId: string, isLive: boolean) {
  const queryClient = useQueryClient();
  const pages = useInfiniteQuery(rootPagesQuery(projectId));
  const newest = useQuery({ ...newestRootsQuery(projectId), enabled: isLive });
  const runs = useMemo(() => {
    const read = pages.data?.pages;
    return read === undefined || newest.data === undefined
      ? read?.flatMap((page) => page.runs)
      : mergeRuns(newest.data, read);
  }, [pages.data, newest.data]);
  const hasGap = runs === undefined && pages.data !== undefined;
  useEffect(() => {
    if (hasGap && newest.data !== undefined) {
      queryClient.setQueryData(rootPagesQuery(projectId).queryKey, {
        pages: [newest.data],
        pageParams: [undefined],
      });
    }
  }, [hasGap, newest.data, projectId, queryClient]);
  return { pages, error: newest.error ?? pages.error, runs: hasGap ? newest.data?.runs : runs };
}
