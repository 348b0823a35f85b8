import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { FormError, FormSection } from "../../components/dialog/form.tsx";
import { isActive } from "../jobs/job.ts";
import { JobRow } from "../jobs/job-row.tsx";
import { latestJobsQuery, startJob } from "../jobs/queries.ts";
import "../jobs/jobs.css";

const jobKind = "prices.recompute";

/** A button that starts a job to compute the costs of stored runs again, and the progress of the latest such job. */
export const Recompute = ({ tenantId }: { readonly tenantId: string }) => {
  const queryClient = useQueryClient();
  const { data: jobs = [] } = useQuery(latestJobsQuery);
  const job = jobs.find(({ kind }) => kind === jobKind);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => startJob(queryClient, jobKind, {}),
  });
  return (
    <FormSection
      title="Stored runs"
      description="Changed prices apply to runs that arrive later. To apply them to stored runs, recompute the costs: each run then has the price that was valid when it started. Costs that runs report are kept."
    >
      <Button
        variant="default"
        loading={isPending}
        disabled={job !== undefined && isActive(job)}
        onClick={() => mutate()}
      >
        Recompute costs
      </Button>
      <FormError error={error?.message} />
      {job !== undefined && (
        <ul className="jobs prices-job" aria-label="Latest recomputation">
          <JobRow job={job} tenantId={tenantId} />
        </ul>
      )}
    </FormSection>
  );
};
