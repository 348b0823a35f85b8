import { toIso } from "../http/wire-text.ts";
import type { Project } from "./project.ts";
import type { ProjectJson } from "./project-schemas.ts";

export const toProjectJson = (project: Project): ProjectJson => ({
  id: project.id,
  tenant_id: project.tenantId,
  name: project.name,
  start_time: toIso(project.startMicros),
  end_time: project.endMicros === null ? null : toIso(project.endMicros),
  description: project.description,
  extra: project.extra,
  reference_dataset_id: project.referenceDatasetId,
  default_dataset_id: null,
});
