import { parseDataset } from "../../model/resources/dataset.ts";
import type { Dataset } from "../../model/resources/dataset.ts";
import { NotFoundError, ValidationError } from "../../model/errors.ts";
import { parseList } from "../../model/fields.ts";
import { assertUuid } from "../../model/ids.ts";
import type { Call, CallOptions } from "../http/http.ts";

/** Identifies a dataset by its id or by its name, never both. */
export type DatasetKey =
  | { readonly datasetId: string; readonly datasetName?: undefined }
  | { readonly datasetName: string; readonly datasetId?: undefined };

/** Identifies a version of a dataset by its time (a Date or an ISO 8601 string) or by its tag. */
export type VersionKey = Date | string;

/**
 * Requires exactly one of id and name. The messages are the same as those of LangSmith's client, because programs may
 * check for them.
 *
 * @throws {@link ValidationError} if not exactly one of id and name is given, or the id is not a UUID.
 */
export function assertDatasetKey({ datasetId, datasetName }: DatasetKey): void {
  if (datasetId === undefined && datasetName === undefined) {
    throw new ValidationError("Must provide either datasetName or datasetId");
  }
  if (datasetId !== undefined && datasetName !== undefined) {
    throw new ValidationError("Must provide either datasetName or datasetId, not both");
  }
  if (datasetId === undefined) {
    assertDatasetName(datasetName);
  } else {
    assertUuid(datasetId, "dataset id");
  }
}

/** @throws {@link ValidationError} if the name of a dataset is empty or not a string. */
export function assertDatasetName(name: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ValidationError("The name of a dataset must be a non-empty string");
  }
}

/** @throws {@link NotFoundError} if there is no such dataset: `Dataset[...] not found`. */
export async function readDataset(
  call: Call,
  key: DatasetKey,
  { signal }: CallOptions,
): Promise<Dataset> {
  assertDatasetKey(key);
  const { datasetId: id, datasetName: name } = key;
  if (id !== undefined) {
    return parseDataset(
      await translateDatasetNotFound(key, () => call("readDataset", { path: { id }, signal })),
    );
  }
  const response = await call("listDatasets", { query: { name, limit: 1 }, signal });
  const [dataset] = parseList(response, "datasets", parseDataset);
  if (dataset === undefined) {
    throw createDatasetNotFoundError(key);
  }
  return dataset;
}

/**
 * Returns the id of the dataset. If only the name is known, the dataset is read to find its id.
 *
 * @throws {@link NotFoundError} if there is no such dataset: `Dataset[...] not found`.
 */
export async function resolveDatasetId(
  call: Call,
  key: DatasetKey,
  options: CallOptions,
): Promise<string> {
  assertDatasetKey(key);
  return key.datasetId ?? (await readDataset(call, key, options)).id;
}

/**
 * Sends a request for which status 404 can only mean that the dataset does not exist. For this status, replaces the
 * server's message with `Dataset[...] not found`.
 */
export async function translateDatasetNotFound(
  key: DatasetKey,
  send: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await send();
  } catch (error) {
    throw error instanceof NotFoundError ? createDatasetNotFoundError(key, error) : error;
  }
}

/** Creates the error for a missing dataset. Its message begins like the message of LangSmith's client for this case. */
function createDatasetNotFoundError(
  { datasetId: id, datasetName: name }: DatasetKey,
  cause?: NotFoundError,
): NotFoundError {
  const label = id === undefined ? `name=${name}` : `id=${id}`;
  return new NotFoundError({
    action: "read dataset",
    status: 404,
    body: "",
    message: `Dataset[${label}] not found. ${id === undefined ? `Create it with client.datasets.create({ name: ${JSON.stringify(name)} }), or check` : "Check the id,"} the endpoint and the tenant of the key`,
    cause,
    requestId: cause?.requestId,
  });
}

/**
 * Converts a version to its wire form.
 *
 * @throws {@link ValidationError} if the value is neither a time nor a tag.
 */
export function toVersion(version: VersionKey | undefined, name: string): string | undefined {
  if (version === undefined || (typeof version === "string" && version !== "")) {
    return version;
  }
  if (!(version instanceof Date) || Number.isNaN(version.getTime())) {
    throw new ValidationError(`${name} must be a Date, a string with a time, or a tag`);
  }
  return version.toISOString();
}

/** The option names of {@link DatasetKey}. */
export const datasetKeyNames = { datasetId: true, datasetName: true } as const;
