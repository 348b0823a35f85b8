import { Button, Progress } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { describeProgress, describeState, isActive, toPercent } from "./job.ts";
import type { Job } from "./job.ts";
import { cancelJob, retryJob } from "./queries.ts";

/** A job with its progress, its result or the reason for its failure, and its links and buttons. */
export const JobRow = ({ job, tenantId }: { readonly job: Job; readonly tenantId: string }) => {
  const title = toVisibleText(job.title);
  const percent = toPercent(job);
  return (
    <li className="job">
      <div className="job-head">
        <b>{title}</b>
        <span className="job-state" data-state={job.state}>
          {describeState(job)}
        </span>
      </div>
      {isActive(job) && percent !== undefined && (
        <Progress value={percent} size="sm" aria-label={`Progress of ${title}`} />
      )}
      <p className="job-facts">
        {describeProgress(job)}
        {(job.endedMs ?? job.createdMs) !== undefined && (
          <>
            {" · "}
            <Ago timeMs={job.endedMs ?? job.createdMs ?? 0} />
          </>
        )}
      </p>
      {job.summary !== undefined && <p>{toVisibleText(job.summary)}</p>}
      {job.error !== undefined && <p className="bad">{toVisibleText(job.error)}</p>}
      {job.failureMessages.length > 0 && <FailureList job={job} />}
      <JobActions job={job} title={title} tenantId={tenantId} />
    </li>
  );
};

const FailureList = ({ job: { failureCount, failureMessages } }: { readonly job: Job }) => (
  <details>
    <summary>
      {failureCount > failureMessages.length
        ? `First ${failureMessages.length} of ${failureCount.toLocaleString("en")} failures`
        : `${failureCount.toLocaleString("en")} failed`}
    </summary>
    <ul className="job-failures">
      {failureMessages.map((message, index) => (
        <li key={index}>{toVisibleText(message)}</li>
      ))}
    </ul>
  </details>
);

const JobActions = ({
  job,
  title,
  tenantId,
}: {
  readonly job: Job;
  readonly title: string;
  readonly tenantId: string;
}) => {
  const queryClient = useQueryClient();
  const cancel = useMutation({ mutationFn: async () => cancelJob(queryClient, job.id) });
  const retry = useMutation({ mutationFn: async () => retryJob(queryClient, job.id) });
  const error = cancel.error ?? retry.error;
  return (
    <div className="tools">
      {job.datasetId !== undefined && (
        <Link to="/o/$tenantId/datasets/$datasetId" params={{ tenantId, datasetId: job.datasetId }}>
          Open dataset
        </Link>
      )}
      {job.queueId !== undefined && (
        <Link
          to="/o/$tenantId/annotation-queues/$queueId"
          params={{ tenantId, queueId: job.queueId }}
        >
          View queue
        </Link>
      )}
      {isActive(job) && (
        <Button
          size="compact-xs"
          variant="default"
          disabled={job.isCancelRequested}
          aria-label={`Cancel ${title}`}
          onClick={() => cancel.mutate()}
        >
          Cancel
        </Button>
      )}
      {job.isRetryable && (job.state === "failed" || job.state === "canceled") && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Continue ${title}`}
          onClick={() => retry.mutate()}
        >
          Continue
        </Button>
      )}
      {error !== null && (
        <span className="bad" role="alert">
          {error.message}
        </span>
      )}
    </div>
  );
};
