import type { Project } from "./project.ts";

/** The columns of `projects`, in the order of {@link projectToValues}. */
export const projectColumns =
  "id, tenant_id, name_json, start_us, end_us, description_json, extra_json, reference_dataset_id";

/**
 * The column values of a project. Texts from callers are stored as JSON, because SQLite's text type can't store lone
 * surrogates.
 */
export const projectToValues = (project: Project): (string | number | null)[] => [
  project.id,
  project.tenantId,
  JSON.stringify(project.name),
  project.startMicros,
  project.endMicros,
  project.description === null ? null : JSON.stringify(project.description),
  project.extra === null ? null : JSON.stringify(project.extra),
  project.referenceDatasetId,
];

/** Parses a row, in the order of {@link projectColumns}. */
export function parseProjectRow(values: readonly unknown[]): Project {
  const [id, tenantId, name, start, end, description, extra, reference] = values;
  return {
    id: String(id),
    tenantId: String(tenantId),
    name: String(parseJson(name)),
    startMicros: Number(start),
    endMicros: end === null ? null : Number(end),
    description: parseJson(description) as string | null,
    extra: parseJson(extra) as Project["extra"],
    referenceDatasetId: typeof reference === "string" ? reference : null,
  };
}

const parseJson = (json: unknown): unknown => (typeof json === "string" ? JSON.parse(json) : null);
