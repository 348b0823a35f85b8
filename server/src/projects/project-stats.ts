import { serverLimits } from "../model/options.ts";
import { RequestError } from "../model/errors.ts";
import type { FeedbackReads } from "../feedback/feedback.ts";
import type { RunReads } from "../runs/run-query.ts";
import { toProjectStatsJson } from "../runs/serializers/stats-json.ts";
import type { Promised } from "../storage/promised.ts";
import { toProjectJson } from "./project-json.ts";
import type { Project } from "./project.ts";
import type { ProjectWithoutStatsJson, ProjectWithStatsJson } from "./project-schemas.ts";

/** The part of the store from which statistics of projects are read. */
export interface StatsStore {
  readonly read: Promised<{
    readonly runs: Pick<RunReads, "readProjectStatistics">;
    readonly feedback: Pick<FeedbackReads, "statsOfProjectRuns" | "statsOfProjects">;
  }>;
}

/**
 * Adds the statistics of their runs to projects. The projects are read one after the other, each with one pass over its
 * runs. If all were read at once, a long list would fill the tenant's queue, and queries would time out in it. Once
 * `serverLimits.projectStatsMs` have passed, the other projects are returned without statistics and with
 * `stats_complete: false`.
 *
 * @throws RequestError 408: not even the statistics of the first project could be read in time.
 */
export async function addStats(
  { store, tenantId }: { readonly store: StatsStore; readonly tenantId: string },
  projects: readonly Project[],
  nowMs: () => number = () => performance.now(),
): Promise<readonly (ProjectWithStatsJson | ProjectWithoutStatsJson)[]> {
  const deadlineMs = nowMs() + serverLimits.projectStatsMs;
  const statsOfProjects = await store.read.feedback.statsOfProjects(
    tenantId,
    projects.map(({ id }) => id),
  );
  const results: (ProjectWithStatsJson | ProjectWithoutStatsJson)[] = [];
  for (const project of projects) {
    const isFirst = results.length === 0;
    const stats =
      isFirst || nowMs() < deadlineMs
        ? await readStats(store, tenantId, { project, mayTimeOut: !isFirst })
        : undefined;
    results.push(
      stats === undefined
        ? { ...toProjectJson(project), stats_complete: false }
        : {
            ...toProjectJson(project),
            ...stats,
            session_feedback_stats: statsOfProjects.get(project.id) ?? {},
          },
    );
  }
  return results;
}

/**
 * Reads the statistics of a project. If that takes too long, returns `undefined` if `mayTimeOut` is set, and throws
 * otherwise.
 */
async function readStats(
  store: StatsStore,
  tenantId: string,
  { project, mayTimeOut }: { readonly project: Project; readonly mayTimeOut: boolean },
): Promise<ReturnType<typeof toProjectStatsJson> | undefined> {
  const { id, referenceDatasetId } = project;
  try {
    const [statistics, feedback] = await Promise.all([
      // The results of an experiment are its root runs, as in a comparison of experiments. Usage is that of all runs.
      store.read.runs.readProjectStatistics(tenantId, {
        projectId: id,
        hasResults: referenceDatasetId !== null,
      }),
      store.read.feedback.statsOfProjectRuns(tenantId, [id]),
    ]);
    return toProjectStatsJson(statistics, feedback.get(id));
  } catch (cause) {
    if (mayTimeOut && cause instanceof RequestError && cause.status === timeoutStatus) {
      return undefined;
    }
    throw cause;
  }
}

/** The status of a query that took too long. */
const timeoutStatus = 408;
