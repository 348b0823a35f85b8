import type { Dataset, DatasetFields, DatasetIndex } from "./dataset.ts";
import { openedToken, tokenOwners, toShareToken } from "../storage/sqlite/token-keys.ts";

/**
 * Selects complete datasets (not those being uploaded or deleted) with their number of experiments; columns in the
 * order of {@link parseDatasetRow}.
 */
export const datasetSelection = `SELECT d.id, d.tenant_id, d.name_json, d.created_us, d.modified_us, d.version_us,
  d.example_count, ${openedToken("d.share_sealed", tokenOwners.dataset("d.id"))}, d.index_json, d.body, count(p.id) AS session_count, max(p.start_us) AS last_session_us
  FROM datasets d LEFT JOIN projects p ON p.reference_dataset_id = d.id AND p.tenant_id = d.tenant_id
  WHERE d.is_ready = 1`;

/**
 * Serializes the fields that the column `body` stores: all of {@link DatasetFields} but the name, which has a column.
 */
export const toBody = ({ name: _name, ...rest }: DatasetFields): string => JSON.stringify(rest);

export const parseBody = (body: string): Omit<DatasetFields, "name"> =>
  JSON.parse(body) as Omit<DatasetFields, "name">;

export function parseDatasetRow(values: readonly unknown[]): Dataset {
  const [id, tenantId, name, created, modified, version, count, token, index, body, ...sessions] =
    values;
  return {
    ...parseBody(String(body)),
    id: String(id),
    tenantId: String(tenantId),
    name: String(JSON.parse(String(name))),
    createdMicros: Number(created),
    modifiedMicros: Number(modified),
    versionMicros: version === null ? null : Number(version),
    exampleCount: Number(count),
    sessionCount: Number(sessions[0]),
    lastSessionMicros: sessions[1] === null ? null : Number(sessions[1]),
    shareToken: toShareToken(token),
    index: typeof index === "string" ? (JSON.parse(index) as DatasetIndex) : null,
  };
}
