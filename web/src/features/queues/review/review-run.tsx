import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { Payload } from "../../../components/payload/payload.tsx";
import { CopyText } from "../../../components/code/copy-text.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { formatDuration } from "../../../components/time/time.ts";
import { RunTypeBadge, StatusBadge } from "../../runs/run-badges.tsx";
import { createTraceRunQuery } from "../../trace/queries.ts";
import type { Claim } from "../queue.ts";

/** Shows the run under review as it was recorded. */
export const ReviewRun = ({
  claim,
  tenantId,
}: {
  readonly claim: Claim;
  readonly tenantId: string;
}) => {
  const { data: run, error, refetch } = useQuery(createTraceRunQuery(claim.runId));
  if (run === undefined) {
    return error === null ? (
      <Loading resourceName="the run" />
    ) : (
      <Failure resourceName="the run" error={error} onRetry={refetch} isSingleResource />
    );
  }
  return (
    <>
      <div className="review-head">
        <RunTypeBadge type={run.runType} />
        <h2>{toVisibleText(run.name)}</h2>
        <StatusBadge status={run.status} />
        {run.endMs !== undefined && <span>{formatDuration(run.endMs - run.startMs)}</span>}
        <Ago timeMs={run.startMs} />
        {run.projectId !== undefined && (
          // The link opens a new tab, so that the review stays open.
          <Link
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId: run.projectId }}
            search={{ trace: run.traceId, run: run.id }}
            className="review-trace"
            target="_blank"
            rel="noreferrer"
          >
            Open trace <kbd>t</kbd>
          </Link>
        )}
      </div>
      {run.error !== undefined && (
        <div className="error-text">
          <CopyText
            label="Error"
            text={toVisibleText(run.error)}
            getFullText={() => run.error ?? ""}
          />
        </div>
      )}
      <Payload label="Inputs" value={run.inputs} />
      <Payload label="Outputs" value={run.outputs} />
      {Object.keys(run.metadata).length > 0 && <Payload label="Metadata" value={run.metadata} />}
    </>
  );
};
