import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { runPlaceQuery } from "./run-place.ts";

/** The trace of a run, once the server has said where that is. */
export const RunLink = ({
  runId,
  tenantId,
}: {
  readonly runId: string;
  readonly tenantId: string;
}) => {
  const { data: place, isError } = useQuery(runPlaceQuery(runId));
  if (place === undefined) {
    return <span className="quiet">{isError ? `${runId} (not here)` : runId}</span>;
  }
  return (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ tenantId, projectId: place.projectId }}
      search={{ trace: place.traceId, run: runId }}
    >
      {runId}
    </Link>
  );
};
