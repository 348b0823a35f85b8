import type { Project } from "./project.ts";
import type { ProjectRow } from "./project-queries.ts";

export const toProjectRow = (project: Project): ProjectRow => ({
  id: project.id,
  tenant_id: project.tenantId,
  name_json: JSON.stringify(project.name),
  start_us: project.startMicros,
  end_us: project.endMicros,
  description_json: project.description === null ? null : JSON.stringify(project.description),
  extra_json: project.extra === null ? null : JSON.stringify(project.extra),
  reference_dataset_id: project.referenceDatasetId,
});

export const parseProjectRow = (row: ProjectRow): Project => ({
  id: row.id,
  tenantId: row.tenant_id,
  name: String(JSON.parse(row.name_json)),
  startMicros: row.start_us,
  endMicros: row.end_us,
  description: parseJson(row.description_json) as string | null,
  extra: parseJson(row.extra_json) as Project["extra"],
  referenceDatasetId: row.reference_dataset_id,
});

const parseJson = (json: string | null): unknown => (json === null ? null : JSON.parse(json));
