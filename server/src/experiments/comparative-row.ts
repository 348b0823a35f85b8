import type { Comparative } from "./comparative.ts";
import { parseJson } from "../feedback/feedback-row.ts";

/** Selects comparisons with their experiments as JSON; columns in the order of {@link parseComparativeRow}. */
export const comparativeSelection = `SELECT c.id, c.tenant_id, c.dataset_id, c.name_json, c.description_json,
  c.extra_json, c.created_us, c.modified_us, (
    SELECT json_group_array(json_array(p.id, json(p.name_json)) ORDER BY e.position)
    FROM comparative_experiments e JOIN projects p ON p.id = e.project_id AND p.tenant_id = e.tenant_id
    WHERE e.tenant_id = c.tenant_id AND e.comparative_id = c.id
  ) FROM comparatives c`;

export function parseComparativeRow(values: readonly unknown[]): Comparative {
  const [id, tenantId, datasetId, name, description, extra, created, modified, experiments] =
    values;
  return {
    id: String(id),
    tenantId: String(tenantId),
    datasetId: String(datasetId),
    name: parseJson(name) as string | null,
    description: parseJson(description) as string | null,
    extra: parseJson(extra) as Comparative["extra"],
    createdMicros: Number(created),
    modifiedMicros: Number(modified),
    experiments: (JSON.parse(String(experiments)) as readonly (readonly [string, string])[]).map(
      ([projectId, projectName]) => ({ id: projectId, name: projectName }),
    ),
  };
}
