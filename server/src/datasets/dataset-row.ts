import { decryptToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type { Dataset, DatasetFields, DatasetIndex } from "./dataset.ts";
import type { DatasetRow } from "./dataset-queries.ts";

/** Converts the fields of a dataset to the columns that store them. Other members of the object are ignored. */
export const toDatasetColumns = ({
  name,
  description,
  dataType,
  inputsSchema,
  outputsSchema,
  extra,
  transformations,
  externallyManaged,
  baselineExperimentId,
}: DatasetFields): { readonly name_json: string; readonly body: string } => ({
  name_json: JSON.stringify(name),
  body: JSON.stringify({
    description,
    dataType,
    inputsSchema,
    outputsSchema,
    extra,
    transformations,
    externallyManaged,
    baselineExperimentId,
  } satisfies Omit<DatasetFields, "name">),
});

/** Parses the column `body`, which contains all fields of a dataset except the name. */
export const parseBodyColumn = (body: string): Omit<DatasetFields, "name"> =>
  JSON.parse(body) as Omit<DatasetFields, "name">;

/** Converts a row to a dataset, and decrypts the share token of a dataset that is shared. */
export const parseDatasetRow = (row: DatasetRow, tokenCipher: TokenCipher): Dataset => ({
  ...parseBodyColumn(row.body),
  id: row.id,
  tenantId: row.tenant_id,
  name: String(JSON.parse(row.name_json)),
  createdMicros: row.created_us,
  modifiedMicros: row.modified_us,
  versionMicros: row.version_us,
  exampleCount: row.example_count,
  experimentCount: row.session_count,
  lastExperimentStartMicros: row.last_session_us,
  shareToken:
    row.share_sealed === null
      ? null
      : decryptToken(tokenCipher, row.share_sealed, tokenOwner.dataset(row.id)),
  index: row.index_json === null ? null : (JSON.parse(row.index_json) as DatasetIndex),
});
