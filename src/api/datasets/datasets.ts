import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { dataTypes, parseDataset } from "../../model/resources/dataset.ts";
import type { DataType, Dataset } from "../../model/resources/dataset.ts";
import { parseDatasetShare } from "../../model/resources/dataset-share.ts";
import type { DatasetShare } from "../../model/resources/dataset-share.ts";
import {
  parseDatasetDiff,
  parseDatasetVersion,
  parseTexts,
} from "../../model/resources/dataset-version.ts";
import type { DatasetDiff, DatasetVersion } from "../../model/resources/dataset-version.ts";
import type { EndpointName } from "../../model/endpoints.ts";
import { ValidationError } from "../../model/errors.ts";
import { parseCount, parseExample } from "../../model/resources/example.ts";
import type { Example } from "../../model/resources/example.ts";
import { Fields, omitUndefined, parseList } from "../../model/fields.ts";
import { validateId, validateIds } from "../../model/ids.ts";
import { createDatasetUrl, extractShareToken, createSharedDatasetUrl } from "../../model/links.ts";
import { assertChange } from "../http/assert-change.ts";
import { createFormBody } from "../http/form.ts";
import type { ApiTransport, CallOptions } from "../http/http.ts";
import { isFound } from "../http/is-found.ts";
import {
  Pages,
  validateOffset,
  splitIntoChunks,
  groupIdsByRequest,
  listByIds,
  identifyById,
  listByOffset,
} from "../http/pages.ts";
import { toJson } from "../http/request.ts";
import { ServerInfoReader } from "../http/server-info.ts";
import { toBody } from "../http/streamed-bodies.ts";
import type { ByteSource } from "../http/streamed-bodies.ts";
import { splitCsvIntoLines, splitIntoLines } from "../http/text-lines.ts";
import type { TenantIds } from "../tenant-ids.ts";
import { cloneDataset } from "./dataset-clone.ts";
import type { CloneTools, ClonedDataset } from "./dataset-clone.ts";
import {
  assertDatasetKey,
  assertDatasetName,
  resolveDatasetId,
  readDataset,
  toVersion,
  translateDatasetNotFound,
  datasetKeyNames,
} from "./dataset-key.ts";
import type {
  CloneDataset,
  CreateDataset,
  CreateDatasetFromCsv,
  DatasetAsOf,
  DatasetCall,
  DiffDataset,
  FilterSharedExamples,
  IndexDataset,
  ListDatasetVersions,
  ListDatasets,
  ListSharedExamples,
  ReadDatasetVersion,
  SearchDataset,
  TagDataset,
  UpdateDataset,
  UpdateDatasetSplits,
} from "./dataset-options.ts";
import type { Examples } from "./examples.ts";
import { listSharedExamples, toSharedExampleQuery } from "./shared-examples.ts";
import { toIsoTime } from "../http/iso-time.ts";
import { texts } from "../http/argument-checks.ts";
import { callOptionKeys } from "../http/known-arguments.ts";
import type { CallTable } from "../http/known-arguments.ts";
import { newDatasetKeys } from "./dataset-options.ts";

/** What {@link Datasets} needs in addition to the transport. */
export interface DatasetsInit {
  /** Base URL of the UI, from which links are created. */
  readonly host: string;
  /** Base URL of the API. */
  readonly endpoint: string;
  readonly tenants: TenantIds;
  readonly examples: Examples;
  /** Logs a warning. */
  readonly warn: (message: string) => void;
}

const maxSearchResults = 100;

/**
 * A dataset contains examples to measure an application against; it has versions and splits. A method that takes a
 * dataset's id or name throws the errors of {@link Datasets.read}.
 */
export class Datasets {
  readonly #transport: ApiTransport;
  readonly #host: string;
  readonly #tenants: TenantIds;
  readonly #cloneTools: CloneTools;

  /** @internal */
  constructor(transport: ApiTransport, { host, tenants, ...tools }: DatasetsInit) {
    this.#transport = transport;
    this.#host = host;
    this.#tenants = tenants;
    this.#cloneTools = {
      datasets: this,
      serverInfo: new ServerInfoReader(transport.call),
      ...tools,
    };
  }

  /**
   * Creates a dataset. Repeating the call throws ConflictError.
   *
   * @throws {@link ValidationError} if the name is empty, or the data type is unknown.
   * @throws {@link ConflictError} if the name is taken.
   */
  async create(dataset: CreateDataset): Promise<Dataset> {
    const { name, description, metadata, signal } = dataset;
    assertDatasetName(name);
    const json = omitUndefined({
      id: validateId(dataset.id, "dataset id"),
      name,
      description,
      data_type: checkDataType(dataset.dataType),
      inputs_schema_definition: dataset.inputsSchema,
      outputs_schema_definition: dataset.outputsSchema,
      created_at: toIsoTime(dataset.createdAt, "createdAt"),
      extra: metadata === undefined ? undefined : { metadata },
    });
    return parseDataset(await this.#transport.call("createDataset", { json, signal }));
  }

  /**
   * Creates a dataset with an example for each row of a CSV file. Repeating the call throws ConflictError. The upload
   * as a whole has no time limit: `timeoutMs` applies to each chunk of the file.
   *
   * @throws {@link ValidationError} if `inputKeys` is empty, or the file can't be read or has no name.
   * @throws {@link ConflictError} if the name is taken.
   * @throws {@link HttpError} if the file lacks a column that `inputKeys` or `outputKeys` names.
   */
  async createFromCsv(upload: CreateDatasetFromCsv): Promise<Dataset> {
    const { file, inputKeys, outputKeys = [], name, description, signal } = upload;
    assertColumns(inputKeys, outputKeys);
    const fileName = upload.fileName ?? readFileName(file) ?? name ?? "";
    assertDatasetName(name ?? fileName);
    const fields = {
      input_keys: inputKeys,
      output_keys: outputKeys,
      description,
      data_type: checkDataType(upload.dataType),
      name,
    };
    const fieldParts = Object.entries(fields).flatMap(([key, value]) =>
      [value ?? []].flat().map((content) => ({ name: key, content })),
    );
    const content = await toBody(file, "CSV file");
    // Send the file last, so that a server that reads the form as a stream already knows which columns to use.
    const body = createFormBody([
      ...fieldParts,
      { name: "file", fileName, type: "text/csv", content },
    ]);
    return parseDataset(await this.#transport.call("uploadDataset", { body, signal }));
  }

  /**
   * Reads a dataset by its id or name.
   *
   * @throws {@link ValidationError} if not exactly one of id and name is given, or the id is not a UUID.
   * @throws {@link NotFoundError} if there is no such dataset: `Dataset[...] not found`.
   */
  async read(key: DatasetCall): Promise<Dataset> {
    return readDataset(this.#transport.call, key, key);
  }

  /**
   * Returns whether the dataset exists. Any failure other than {@link NotFoundError} is thrown, as by
   * {@link Datasets.read}.
   */
  has(key: DatasetCall): Promise<boolean> {
    return isFound(this.read(key));
  }

  /**
   * Lists datasets. The next page is requested when the iteration reaches it.
   *
   * @throws {@link ValidationError} if an id is not a UUID, `limit` is not a whole number of at least 1, or `offset` is
   * combined with more than 100 ids.
   */
  list(filter: ListDatasets = {}): Pages<Dataset> {
    const { datasetIds: ids, metadata, limit, signal } = filter;
    validateIds(ids, "dataset id");
    const startOffset = validateOffset(filter.offset, ids);
    const query = {
      name: filter.datasetName,
      name_contains: filter.nameContains,
      data_type: checkDataType(filter.dataType),
      metadata: metadata && toJson("list datasets", metadata),
    };
    return listByIds(ids, limit, (idChunk, remainingLimit) =>
      listByOffset(
        remainingLimit,
        async (page) => {
          const range = { ...page, offset: startOffset + page.offset };
          const init = { query: { id: idChunk, ...query, ...range }, signal };
          return parseList(
            await this.#transport.call("listDatasets", init),
            "datasets",
            parseDataset,
          );
        },
        identifyById,
      ),
    );
  }

  /**
   * Changes the given properties. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if no property is given, or an id is not a UUID.
   * @throws {@link NotFoundError} if there is no such dataset: `Dataset[...] not found`.
   * @throws {@link ConflictError} if the new name is taken.
   */
  async update(changes: UpdateDataset): Promise<Dataset> {
    assertDatasetKey(changes);
    const { name, description, metadata, signal } = changes;
    if (name !== undefined) {
      assertDatasetName(name);
    }
    const json = omitUndefined({
      name,
      description,
      inputs_schema_definition: changes.inputsSchema,
      outputs_schema_definition: changes.outputsSchema,
      metadata,
      baseline_experiment_id:
        changes.baselineExperimentId &&
        validateId(changes.baselineExperimentId, "id of the baseline experiment"),
    });
    assertChange(json, [
      "name",
      "description",
      "inputsSchema",
      "outputsSchema",
      "metadata",
      "baselineExperimentId",
    ]);
    const { call } = this.#transport;
    const id = await resolveDatasetId(call, changes, changes);
    return parseDataset(
      await translateDatasetNotFound(changes, () =>
        call("updateDataset", { path: { id }, json, signal }),
      ),
    );
  }

  /**
   * Deletes a dataset with its examples and versions.
   *
   * @throws {@link ValidationError} if not exactly one of id and name is given, or the id is not a UUID.
   * @throws {@link NotFoundError} if there is no such dataset: `Dataset[...] not found`.
   */
  async delete(key: DatasetCall): Promise<void> {
    const { signal } = key;
    const { call } = this.#transport;
    const id = await resolveDatasetId(call, key, key);
    await translateDatasetNotFound(key, () => call("deleteDataset", { path: { id }, signal }));
  }

  /**
   * Deletes datasets, 100 per request. An id without a dataset is ignored if its request contains the id of another
   * dataset that exists.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   * @throws {@link NotFoundError} if none of the datasets of a request exists. The datasets of earlier requests were
   * deleted.
   */
  async deleteMany(ids: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    validateIds(ids, "dataset id");
    for (const chunk of splitIntoChunks(ids)) {
      await this.#transport.call("deleteDatasets", { query: { dataset_ids: chunk }, signal });
    }
  }

  /**
   * Returns the URL of the dataset in the UI.
   *
   * @throws {@link NotFoundError} if the tenant can't be determined: `No projects found to resolve tenant.`
   */
  async url(key: DatasetCall): Promise<string> {
    const { id, tenantId } = await this.read(key);
    const owningTenantId = tenantId ?? (await this.#tenants.readOwnId(key));
    return createDatasetUrl(this.#host, { tenantId: owningTenantId, datasetId: id });
  }

  /**
   * Lists the versions of a dataset, the latest first. The next page is requested when the iteration reaches it.
   *
   * @throws {@link ValidationError} if `exampleId` is not a UUID, or `limit` is not a whole number of at least 1.
   */
  listVersions(filter: ListDatasetVersions): Pages<DatasetVersion> {
    assertDatasetKey(filter);
    const { search, limit, signal } = filter;
    const { call } = this.#transport;
    const query = { search, example: validateId(filter.exampleId, "example id") };
    let id: string;
    return listByOffset(
      limit,
      async (page) => {
        id = page.offset === 0 ? await resolveDatasetId(call, filter, filter) : id;
        const init = { path: { id }, query: { ...query, ...page }, signal };
        const response = await translateDatasetNotFound(filter, () =>
          call("listDatasetVersions", init),
        );
        return parseList(response, "versions of a dataset", parseDatasetVersion);
      },
      ({ asOf }) => asOf,
    );
  }

  /**
   * Reads the version that was current at a time, or that has a tag.
   *
   * @throws {@link ValidationError} if not exactly one of `asOf` and `tag` is given.
   * @throws {@link NotFoundError} if no version existed at that time, or no version has the tag.
   */
  async readVersion(key: ReadDatasetVersion): Promise<DatasetVersion> {
    const { asOf, tag, signal } = key;
    if ((asOf === undefined) === (tag === undefined)) {
      throw new ValidationError("Exactly one of asOf and tag must be provided");
    }
    const query = { as_of: toVersion(asOf, "asOf"), tag: toVersion(tag, "tag") };
    const id = await resolveDatasetId(this.#transport.call, key, key);
    const init = { path: { id }, query, signal };
    return parseDatasetVersion(await this.#transport.call("readDatasetVersion", init));
  }

  /**
   * Tags a version. If another version has the tag, the tag moves. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if the tag is empty, or `asOf` is not a version.
   * @throws {@link NotFoundError} if the version does not exist.
   */
  async tag(request: TagDataset): Promise<DatasetVersion> {
    const { tag, signal } = request;
    if (typeof tag !== "string" || tag === "") {
      throw new ValidationError("The tag of a version must be a non-empty string");
    }
    const json = { as_of: toRequiredVersion(request.asOf, "asOf"), tag };
    const id = await resolveDatasetId(this.#transport.call, request, request);
    const init = { path: { id }, json, signal };
    return parseDatasetVersion(await this.#transport.call("tagDatasetVersion", init));
  }

  /**
   * Compares two versions, and returns the ids of the examples that were added, changed and removed.
   *
   * @throws {@link ValidationError} if `fromVersion` or `toVersion` is not a version.
   * @throws {@link NotFoundError} if one of the versions does not exist.
   */
  async diff(request: DiffDataset): Promise<DatasetDiff> {
    const query = {
      from_version: toRequiredVersion(request.fromVersion, "fromVersion"),
      to_version: toRequiredVersion(request.toVersion, "toVersion"),
    };
    const id = await resolveDatasetId(this.#transport.call, request, request);
    const init = { path: { id }, query, signal: request.signal };
    return parseDatasetDiff(await this.#transport.call("diffDatasetVersions", init));
  }

  /** Lists the names of all splits of a dataset. */
  async listSplits(key: DatasetAsOf): Promise<readonly string[]> {
    const query = { as_of: toVersion(key.asOf, "asOf") };
    const id = await resolveDatasetId(this.#transport.call, key, key);
    const init = { path: { id }, query, signal: key.signal };
    return parseTexts(await this.#transport.call("listDatasetSplits", init), "splits");
  }

  /**
   * Adds examples to a split, or removes them from it. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if the name of the split or the list of examples is empty, or an id is not a UUID.
   */
  async updateSplits(request: UpdateDatasetSplits): Promise<void> {
    const { splitName, exampleIds, remove = false, signal } = request;
    if (typeof splitName !== "string" || splitName === "") {
      throw new ValidationError("The name of a split must be a non-empty string");
    }
    if (!Array.isArray(exampleIds) || exampleIds.length === 0) {
      throw new ValidationError("exampleIds must contain at least one id");
    }
    const json = omitUndefined({
      split_name: splitName,
      examples: validateIds(exampleIds, "example id"),
      remove,
    });
    const id = await resolveDatasetId(this.#transport.call, request, request);
    await this.#transport.call("updateDatasetSplits", { path: { id }, json, signal });
  }

  /** Lets anyone who has the link read a dataset. Repeating the call returns the same link. */
  async share(key: DatasetCall): Promise<DatasetShare> {
    const response = await this.#callForDataset("shareDataset", key);
    return parseDatasetShare(response, (token) => createSharedDatasetUrl(this.#host, token));
  }

  /** Revokes the link; sharing the dataset again creates another link. Repeating the call has no further effect. */
  async unshare(key: DatasetCall): Promise<void> {
    await this.#callForDataset("unshareDataset", key);
  }

  /** Reads the link under which a dataset is shared; `undefined` if it is not shared. */
  async readShare(key: DatasetCall): Promise<DatasetShare | undefined> {
    const response = await this.#callForDataset("readDatasetShare", key);
    return response === null
      ? undefined
      : parseDatasetShare(response, (token) => createSharedDatasetUrl(this.#host, token));
  }

  /**
   * Reads a shared dataset by its link, or by the token in the link. Needs no API key.
   *
   * @throws {@link ValidationError} if the URL or token is malformed: `Invalid public dataset URL or token`.
   * @throws {@link NotFoundError} if the link was revoked, or never existed.
   */
  async readShared(urlOrToken: string, { signal }: CallOptions = {}): Promise<Dataset> {
    const token = extractShareToken(urlOrToken, { resource: "dataset" });
    return parseDataset(
      await this.#transport.call("readSharedDataset", { path: { token }, signal }),
    );
  }

  /**
   * Lists the examples of a shared dataset. Needs no API key. The next page is requested when the iteration reaches it.
   *
   * @throws {@link ValidationError} if `urlOrToken` is neither the URL of a shared dataset nor its token, an id in
   * `filter` is not a UUID, or `limit` is not a whole number of at least 1.
   * @throws {@link HttpError} if the server responds with an error. The message begins with
   * `Failed to list shared examples`, and contains the status and the server's message.
   */
  listSharedExamples(urlOrToken: string, filter: ListSharedExamples = {}): Pages<Example> {
    return listSharedExamples(this.#transport.call, urlOrToken, filter);
  }

  /**
   * Counts the examples of a shared dataset that match a filter. Throws as {@link Datasets.listSharedExamples} does.
   */
  async countSharedExamples(
    urlOrToken: string,
    { signal, ...filter }: FilterSharedExamples = {},
  ): Promise<number> {
    const token = extractShareToken(urlOrToken, { resource: "dataset" });
    const query = toSharedExampleQuery(filter);
    let count = 0;
    for (const id of groupIdsByRequest(filter.exampleIds)) {
      const init = { path: { token }, query: { ...query, id }, signal };
      count += parseCount(await this.#transport.call("countSharedExamples", init));
    }
    return count;
  }

  /**
   * Copies a shared dataset and its examples to the client's own tenant, with attachments if the client's server
   * accepts them. If the tenant already has a dataset with the name of the copy, copies nothing and logs a warning.
   *
   * @throws {@link ValidationError} if the URL or token is malformed: `Invalid public dataset URL or token`.
   * @throws {@link NotFoundError} if the link was revoked, or never existed.
   * @throws {@link IncompleteError} if the dataset was created, but not all of its examples were copied. Delete the
   * dataset manually; a logged warning contains its name.
   */
  async clone(urlOrToken: string, options: CloneDataset = {}): Promise<ClonedDataset> {
    const token = extractShareToken(urlOrToken, { resource: "dataset" });
    return cloneDataset(this.#transport, { token, ...options }, this.#cloneTools);
  }

  /**
   * Exports the examples in OpenAI's fine-tuning format, one line of JSON each. Lines are read from the response as the
   * iteration proceeds.
   *
   * @throws {@link HttpError} if an example can't be converted to that format.
   */
  exportOpenAi(key: DatasetAsOf): Pages<string> {
    return this.#streamExport("exportDatasetOpenAi", key);
  }

  /**
   * Exports the examples as CSV, one text line at a time. A quoted cell may span several lines, also empty ones; joined
   * with `"\n"`, the lines are the CSV. Line breaks of a cell stay as the server sent them. The carriage return of a
   * line break that ends a row, and the line break at the end of the CSV, are left out.
   */
  exportCsv(key: DatasetAsOf): Pages<string> {
    return this.#streamExport("exportDatasetCsv", key, splitCsvIntoLines);
  }

  /** Exports the examples, one line of JSON each. */
  exportJsonl(key: DatasetAsOf): Pages<string> {
    return this.#streamExport("exportDatasetJsonl", key);
  }

  /** Indexes a version for {@link Datasets.search}. Repeating the call has no further effect. */
  async index(request: IndexDataset): Promise<void> {
    const json = omitUndefined({ tag: toVersion(request.tag, "tag") });
    const id = await resolveDatasetId(this.#transport.call, request, request);
    await this.#transport.call("indexDataset", { path: { id }, json, signal: request.signal });
  }

  /**
   * Returns the examples whose inputs are most similar to the given inputs, the most similar first.
   *
   * @throws {@link ValidationError} if `limit` is not a whole number from 1 to 100.
   */
  async search(request: SearchDataset): Promise<Example[]> {
    const { inputs, limit = 5, filter, signal } = request;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxSearchResults) {
      throw new ValidationError(
        `limit must be a whole number from 1 to ${maxSearchResults}, not ${limit}`,
      );
    }
    const json = omitUndefined({ inputs, limit, filter });
    const id = await resolveDatasetId(this.#transport.call, request, request);
    const response = await this.#transport.call("searchDataset", { path: { id }, json, signal });
    return parseList(
      new Fields(response, "search").readValue("examples"),
      "examples",
      parseExample,
    );
  }

  async #callForDataset(name: EndpointName, key: DatasetCall): Promise<unknown> {
    const { call } = this.#transport;
    const id = await resolveDatasetId(call, key, key);
    return translateDatasetNotFound(key, () => call(name, { path: { id }, signal: key.signal }));
  }

  #streamExport(
    name: EndpointName,
    key: DatasetAsOf,
    splitLines: typeof splitIntoLines = splitIntoLines,
  ): Pages<string> {
    assertDatasetKey(key);
    const query = { as_of: toVersion(key.asOf, "asOf") };
    const transport = this.#transport;
    return new Pages(async function* pages() {
      const id = await resolveDatasetId(transport.call, key, key);
      yield* splitLines(transport.download(name, { path: { id }, query, signal: key.signal }));
    });
  }
}

function checkDataType(type: DataType | undefined): DataType | undefined {
  if (type !== undefined && !dataTypes.includes(type)) {
    throw new ValidationError(`dataType must be one of ${dataTypes.join(", ")}`);
  }
  return type;
}

function assertColumns(inputKeys: readonly string[], outputKeys: readonly string[]): void {
  const columns = [inputKeys, outputKeys].flat();
  if (!Array.isArray(inputKeys) || inputKeys.length === 0 || columns.some((key) => key === "")) {
    throw new ValidationError(
      "inputKeys must contain at least one column, and no column name may be empty",
    );
  }
}

/** Returns the name of the file, or `undefined` if the source has no name, such as bytes. */
function readFileName(file: ByteSource): string | undefined {
  if (file instanceof URL) {
    // A URL with another scheme is refused when the file is opened.
    return basename(file.protocol === "file:" ? fileURLToPath(file) : file.pathname);
  }
  if (typeof file === "string") {
    return basename(file);
  }
  const { name } = Object(file) as { readonly name?: unknown };
  return typeof name === "string" ? name : undefined;
}

function toRequiredVersion(version: Date | string | undefined, name: string): string {
  const text = toVersion(version, name);
  if (text === undefined) {
    throw new ValidationError(`${name} must be a Date, a string with a time, or a tag`);
  }
  return text;
}

const sharedExampleKeys = {
  ...callOptionKeys,
  exampleIds: true,
  metadata: true,
  filter: true,
} as const;

/** The option names that each method accepts. */
export const datasetCalls: CallTable<Datasets> = {
  create: { args: [{ ...callOptionKeys, ...newDatasetKeys, name: true }] },
  createFromCsv: {
    args: [
      {
        ...callOptionKeys,
        file: true,
        inputKeys: texts,
        outputKeys: texts,
        name: true,
        fileName: true,
        description: true,
        dataType: true,
      },
    ],
  },
  read: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  has: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  list: {
    args: [
      {
        ...callOptionKeys,
        datasetIds: true,
        datasetName: true,
        nameContains: true,
        dataType: true,
        metadata: true,
        offset: true,
        limit: true,
      },
    ],
    throws: true,
  },
  update: {
    args: [
      {
        ...callOptionKeys,
        ...datasetKeyNames,
        name: true,
        description: true,
        inputsSchema: true,
        outputsSchema: true,
        metadata: true,
        baselineExperimentId: true,
      },
    ],
  },
  delete: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  deleteMany: { args: [texts, callOptionKeys] },
  url: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  listVersions: {
    args: [{ ...callOptionKeys, ...datasetKeyNames, exampleId: true, search: true, limit: true }],
    throws: true,
  },
  readVersion: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true, tag: true }] },
  tag: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true, tag: true }] },
  diff: { args: [{ ...callOptionKeys, ...datasetKeyNames, fromVersion: true, toVersion: true }] },
  listSplits: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true }] },
  updateSplits: {
    args: [
      { ...callOptionKeys, ...datasetKeyNames, splitName: true, exampleIds: true, remove: true },
    ],
  },
  share: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  unshare: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  readShare: { args: [{ ...callOptionKeys, ...datasetKeyNames }] },
  readShared: { args: [null, callOptionKeys] },
  listSharedExamples: { args: [null, { ...sharedExampleKeys, limit: true }], throws: true },
  countSharedExamples: { args: [null, sharedExampleKeys] },
  clone: { args: [null, { ...callOptionKeys, name: true, sourceEndpoint: true }] },
  exportOpenAi: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true }], throws: true },
  exportCsv: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true }], throws: true },
  exportJsonl: { args: [{ ...callOptionKeys, ...datasetKeyNames, asOf: true }], throws: true },
  index: { args: [{ ...callOptionKeys, ...datasetKeyNames, tag: true }] },
  search: {
    args: [{ ...callOptionKeys, ...datasetKeyNames, inputs: true, limit: true, filter: true }],
  },
};
