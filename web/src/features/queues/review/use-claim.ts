import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect } from "react";
import { claimRun } from "../queries.ts";
import type { ReviewSession } from "../queries.ts";
import type { Claim } from "../queue.ts";

const toQueryKey = ({ queueId, reviewer }: ReviewSession, positionId: string | undefined) =>
  ["claims", queueId, reviewer, positionId ?? "next"] as const;

/**
 * Claims the run at the queue position `positionId`, or the next waiting run, and renews the claim while the page is
 * open. The data is `null` if no run is waiting.
 */
export function useClaim(session: ReviewSession, positionId: string | undefined) {
  const openClaim = useOpenClaim(session);
  const claim = useQuery({
    queryKey: toQueryKey(session, positionId),
    queryFn: async ({ signal }) =>
      claimRun(session, positionId === undefined ? {} : { queue_run_id: positionId }, signal),
    refetchInterval: ({ state: { data } }) => computeRenewalDelayMs(data, Date.now()),
    refetchIntervalInBackground: true,
    // Never show a cached claim: another reviewer may have claimed the run in the meantime.
    gcTime: 0,
  });
  const nextClaim = positionId === undefined ? claim.data : undefined;
  useEffect(() => {
    if (nextClaim !== undefined && nextClaim !== null) {
      void openClaim(nextClaim);
    }
  }, [nextClaim, openClaim]);
  return claim;
}

/** Returns a function that opens a claimed run. Called with `null`, it shows the message that no run is waiting. */
export function useOpenClaim(session: ReviewSession): (claim: Claim | null) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { queueId, reviewer } = session;
  return useCallback(
    async (claim) => {
      if (claim !== null) {
        client.setQueryData(toQueryKey({ queueId, reviewer }, claim.id), claim);
      }
      // Replace the history entry, so that the Back button leaves the review instead of returning to earlier runs.
      const search = claim === null ? {} : { run: claim.id };
      await navigate({ to: ".", search, replace: true });
    },
    [client, navigate, queueId, reviewer],
  );
}

const emptyQueuePollMs = 5_000;
const maxRenewalDelayMs = 60_000;
const minRenewalDelayMs = 2_000;

/**
 * Returns the milliseconds until the claim is renewed: a third of its remaining time, so that the claim survives one
 * failed request, but at least 2 seconds and at most a minute. If no run was waiting (`null`), returns the interval at
 * which the queue is polled. Returns `false` if there is no claim to renew.
 */
export function computeRenewalDelayMs(
  claim: Claim | null | undefined,
  nowMs: number,
): number | false {
  if (claim === null) {
    return emptyQueuePollMs;
  }
  return claim?.untilMs === undefined
    ? false
    : Math.min(maxRenewalDelayMs, Math.max(minRenewalDelayMs, (claim.untilMs - nowMs) / 3));
}
