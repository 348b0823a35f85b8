import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect } from "react";
import { claimRun } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Claim } from "../queue.ts";

const keyOf = ({ queueId, reviewer }: ReviewSession, positionId: string | undefined) =>
  ["claims", queueId, reviewer, positionId ?? "next"] as const;

/**
 * The run that the address names, or the next one: claimed, and claimed anew again and again while the page is open.
 * `null`: none waits.
 */
export function useClaim(session: ReviewSession, positionId: string | undefined) {
  const open = useOpen(session);
  const claim = useQuery({
    queryKey: keyOf(session, positionId),
    queryFn: async ({ signal }) =>
      claimRun(session, positionId === undefined ? {} : { queue_run_id: positionId }, signal),
    refetchInterval: ({ state: { data } }) => heartbeatMs(data, Date.now()),
    refetchIntervalInBackground: true,
    // What another reviewer may have meanwhile is no memory to show.
    gcTime: 0,
  });
  const next = positionId === undefined ? claim.data : undefined;
  useEffect(() => {
    if (next !== undefined && next !== null) {
      void open(next);
    }
  }, [next, open]);
  return claim;
}

/** Goes to a run that was claimed just now; `null`: to the end of the queue. */
export function useOpen(session: ReviewSession): (claim: Claim | null) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { queueId, reviewer } = session;
  return useCallback(
    async (claim) => {
      if (claim !== null) {
        client.setQueryData(keyOf({ queueId, reviewer }, claim.id), claim);
      }
      // One step in the history for a whole review.
      const search = claim === null ? {} : { run: claim.id };
      await navigate({ to: ".", search, replace: true });
    },
    [client, navigate, queueId, reviewer],
  );
}

const waitingMs = 5_000;
const longestMs = 60_000;
const shortestMs = 2_000;

/**
 * When a claim is to be renewed: after a third of the time that is left of it, so that one answer may fail. Where no run
 * waited, when to ask again. `false`: there is nothing to renew.
 */
export function heartbeatMs(claim: Claim | null | undefined, nowMs: number): number | false {
  if (claim === null) {
    return waitingMs;
  }
  return claim?.untilMs === undefined
    ? false
    : Math.min(longestMs, Math.max(shortestMs, (claim.untilMs - nowMs) / 3));
}
