import { RequestError } from "../model/errors.ts";
import type { ProjectReads } from "../projects/project.ts";

interface ExperimentSelection {
  readonly experimentIds: readonly string[];
  readonly datasetId: string;
}

/**
 * Checks that projects are experiments on a dataset. Without this check, a mistyped id would look like an experiment
 * without runs.
 *
 * @throws RequestError 404: an experiment does not exist. 422: a project is on another dataset, or on none.
 */
export async function assertExperimentsOnDataset(
  store: { readonly read: { readonly projects: Pick<ProjectReads, "list"> } },
  tenantId: string,
  { experimentIds, datasetId }: ExperimentSelection,
): Promise<void> {
  const projects = await store.read.projects.list(tenantId, {
    ids: experimentIds,
    limit: experimentIds.length,
    offset: 0,
  });
  const datasetIds = new Map(
    projects.map(({ id, referenceDatasetId }) => [id, referenceDatasetId]),
  );
  const missing = experimentIds.filter((id) => !datasetIds.has(id));
  if (missing.length > 0) {
    throw new RequestError(404, `Experiments not found: ${missing.join(", ")}`);
  }
  const otherProjectIds = experimentIds.filter((id) => datasetIds.get(id) !== datasetId);
  if (otherProjectIds.length > 0) {
    throw new RequestError(
      422,
      `Experiments are not on dataset ${datasetId}: ${otherProjectIds.join(", ")}`,
    );
  }
}
