import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { JobRow } from "./job-row.tsx";
import { jobListQuery } from "./queries.ts";
import "./jobs.css";

const route = getRouteApi("/o/$tenantId/jobs");

/** The page `/o/{tenantId}/jobs`, which lists the jobs that are running and those that ended recently. */
export const Jobs = () => {
  const { tenantId } = route.useParams();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } =
    useInfiniteQuery(jobListQuery);
  const jobs = data?.pages.flat();
  return (
    <div className="page">
      <title>Jobs · Millrace</title>
      <h1>Jobs</h1>
      {jobs === undefined && error === null && <Loading resourceName="the jobs" />}
      {jobs === undefined && error !== null && (
        <Failure resourceName="the jobs" error={error} onRetry={refetch} />
      )}
      {jobs?.length === 0 && (
        <Empty title="No jobs">
          <p>
            Work that takes a while appears here, such as adding all matching runs to a dataset.
            Jobs are removed a week after they have ended.
          </p>
          <p>
            <Link to="/o/$tenantId/projects" params={{ tenantId }}>
              Open the projects
            </Link>
          </p>
        </Empty>
      )}
      {jobs !== undefined && jobs.length > 0 && (
        <ul className="jobs">
          {jobs.map((job) => (
            <JobRow key={job.id} job={job} tenantId={tenantId} />
          ))}
        </ul>
      )}
      {hasNextPage && (
        <Button
          size="xs"
          variant="default"
          loading={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Load more
        </Button>
      )}
    </div>
  );
};
