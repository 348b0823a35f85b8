import { Button, Progress } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { FormError } from "../../../components/dialog/form.tsx";
import { formatDollars } from "../../../components/text/cost.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { isActive } from "./launch.ts";
import type { ExperimentJob } from "./launch.ts";
import { cancelJob, createExperimentJobsQuery, retryJob } from "./queries.ts";
import "./launch.css";

const stateTexts: { readonly [State in ExperimentJob["state"]]: string } = {
  queued: "Queued",
  running: "Running",
  succeeded: "Done",
  failed: "Failed",
  canceled: "Canceled",
};

/**
 * The progress of experiments that the server runs: the finished rows, the cost so far, and a button to cancel or
 * continue.
 */
export const ExperimentJobs = ({
  experimentIds,
}: {
  readonly experimentIds: readonly string[];
}) => {
  const { data: jobs = [] } = useQuery(createExperimentJobsQuery(experimentIds));
  const shownJobs = jobs.filter(
    ({ state, failureCount }) => state !== "succeeded" || failureCount > 0,
  );
  return shownJobs.length === 0 ? null : (
    <section className="launch-jobs" aria-label="Progress of experiments">
      {shownJobs.map((job) => (
        <JobRow key={job.id} job={job} />
      ))}
    </section>
  );
};

const JobRow = ({ job }: { readonly job: ExperimentJob }) => {
  const queryClient = useQueryClient();
  const action = useMutation({
    mutationFn: async () => (isActive(job) ? cancelJob(job.id) : retryJob(job.id)),
    onSettled: async () => queryClient.invalidateQueries({ queryKey: ["experiments", "jobs"] }),
  });
  const name = toVisibleText(job.name);
  const percentage = job.total === undefined || job.total === 0 ? 0 : (job.done / job.total) * 100;
  return (
    <div className="launch-job">
      <bdi className="launch-job-name">{name}</bdi>
      <Progress value={percentage} aria-label={`Progress of ${name}`} />
      <span className="launch-job-facts">
        <span>{stateTexts[job.state]}</span>
        <span>
          {job.done.toLocaleString("en")} of {job.total?.toLocaleString("en") ?? "?"} rows
        </span>
        <span>
          {formatDollars(job.costUsd)}
          {job.unpricedCalls > 0 && ` + ${pluralize(job.unpricedCalls, "call")} without a price`}
        </span>
        {job.failureCount > 0 && (
          <span className="bad">
            {pluralize(job.failureCount, "failed row")}
            {job.failure !== undefined && `: ${toVisibleText(job.failure)}`}
          </span>
        )}
        {job.error !== undefined && <span className="bad">{toVisibleText(job.error)}</span>}
      </span>
      {job.state !== "succeeded" && (
        <Button
          size="compact-xs"
          variant="default"
          loading={action.isPending}
          onClick={() => action.mutate()}
        >
          {isActive(job) ? "Cancel" : "Continue"}
        </Button>
      )}
      <FormError error={action.error?.message} />
    </div>
  );
};
