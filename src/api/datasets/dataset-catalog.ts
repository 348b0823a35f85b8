import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { dataTypes, parseDataset } from "../../model/resources/dataset.ts";
import type { DataType, Dataset } from "../../model/resources/dataset.ts";
import { ValidationError } from "../../model/errors.ts";
import { definedOf, parseList } from "../../model/fields.ts";
import { checkId, checkIds } from "../../model/ids.ts";
import { datasetUrl } from "../../model/links.ts";
import { assertChange } from "../http/assert-change.ts";
import {
  answerOf,
  assertDatasetKey,
  assertDatasetName,
  datasetIdOf,
  readDataset,
} from "./dataset-key.ts";
import type {
  CreateDataset,
  CreateDatasetFromCsv,
  DatasetCall,
  ListDatasets,
  UpdateDataset,
} from "./dataset-options.ts";
import { formBody } from "../http/form.ts";
import type { ApiTransport, CallOptions } from "../http/http.ts";
import { isFound } from "../http/is-found.ts";
import { checkOffset, chunksOf, pagesByIds, pagesByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";
import { toJson } from "../http/request.ts";
import { toBody } from "../http/streamed-bodies.ts";
import type { ByteSource } from "../http/streamed-bodies.ts";
import type { TenantIds } from "../tenant-ids.ts";

/** Datasets themselves: made, found, changed, deleted. */
export class DatasetCatalog {
  /** @internal */
  protected readonly asking: ApiTransport;
  /** @internal */
  protected readonly host: string;
  readonly #tenants: TenantIds;

  /** @internal */
  constructor(asking: ApiTransport, host: string, tenants: TenantIds) {
    this.asking = asking;
    this.host = host;
    this.#tenants = tenants;
  }

  /**
   * Makes a dataset. Repeated, it is a conflict.
   *
   * @throws {@link ValidationError} the name is empty, or the data type is unknown.
   * @throws {@link ConflictError} the name is taken.
   */
  async create(dataset: CreateDataset): Promise<Dataset> {
    const { name, description, metadata, signal } = dataset;
    assertDatasetName(name);
    const json = definedOf({
      id: checkId(dataset.id, "dataset id"),
      name,
      description,
      data_type: checkDataType(dataset.dataType),
      inputs_schema_definition: dataset.inputsSchema,
      outputs_schema_definition: dataset.outputsSchema,
      extra: metadata === undefined ? undefined : { metadata },
    });
    return parseDataset(await this.asking.call("createDataset", { json, signal }));
  }

  /**
   * Makes a dataset with an example for each row of a CSV file. Repeated, it is a conflict. A file may
   * take as long as it needs, while it is read and taken; `timeoutMs` is for each of its pieces.
   *
   * @throws {@link ValidationError} no input column is named, the file can't be read, or has no name.
   * @throws {@link ConflictError} the name is taken.
   * @throws {@link HttpError} a column is not in the file.
   */
  async createFromCsv(upload: CreateDatasetFromCsv): Promise<Dataset> {
    const { file, inputKeys, outputKeys = [], name, description, signal } = upload;
    assertColumns(inputKeys, outputKeys);
    const fileName = upload.fileName ?? nameOf(file) ?? name ?? "";
    assertDatasetName(name ?? fileName);
    const fields = {
      input_keys: inputKeys,
      output_keys: outputKeys,
      description,
      data_type: checkDataType(upload.dataType),
      name,
    };
    const parts = Object.entries(fields).flatMap(([key, value]) =>
      [value ?? []].flat().map((content) => ({ name: key, content })),
    );
    const content = await toBody(file, "CSV file");
    // Send the file last, so that a server which reads the form as a stream has its columns by then.
    const body = formBody([...parts, { name: "file", fileName, type: "text/csv", content }]);
    return parseDataset(await this.asking.call("uploadDataset", { body, signal }));
  }

  /**
   * @throws {@link ValidationError} neither id nor name, both, or an id that is not a UUID.
   * @throws {@link NotFoundError} `Dataset[...] not found`.
   */
  async read(key: DatasetCall): Promise<Dataset> {
    return readDataset(this.asking.call, key, key);
  }

  /** Whether there is such a dataset. Every other failure is thrown, as by {@link DatasetCatalog.read}. */
  has(key: DatasetCall): Promise<boolean> {
    return isFound(this.read(key));
  }

  /**
   * Datasets by page, as they are consumed.
   *
   * @throws {@link ValidationError} an id is not a UUID, `limit` not a whole number from 1, or `offset`
   * given with more than 100 ids.
   */
  list(filter: ListDatasets = {}): Pages<Dataset> {
    const { datasetIds: ids, metadata, limit, signal } = filter;
    checkIds(ids, "dataset id");
    const first = checkOffset(filter.offset, ids);
    const query = {
      name: filter.datasetName,
      name_contains: filter.nameContains,
      data_type: checkDataType(filter.dataType),
      metadata: metadata && toJson("list datasets", metadata),
    };
    return pagesByIds(ids, limit, (id, wanted) =>
      pagesByOffset(wanted, async (page) => {
        const range = { ...page, offset: first + page.offset };
        const init = { query: { id, ...query, ...range }, signal };
        return parseList(await this.asking.call("listDatasets", init), "datasets", parseDataset);
      }),
    );
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} nothing to change, or `id` is not a UUID.
   * @throws {@link NotFoundError} `Dataset[...] not found`.
   * @throws {@link ConflictError} the new name is taken.
   */
  async update(changes: UpdateDataset): Promise<Dataset> {
    assertDatasetKey(changes);
    const { name, description, metadata, signal } = changes;
    if (name !== undefined) {
      assertDatasetName(name);
    }
    const json = definedOf({
      name,
      description,
      inputs_schema_definition: changes.inputsSchema,
      outputs_schema_definition: changes.outputsSchema,
      metadata,
    });
    assertChange(json, ["name", "description", "inputsSchema", "outputsSchema", "metadata"]);
    const { call } = this.asking;
    const id = await datasetIdOf(call, changes, changes);
    return parseDataset(
      await answerOf(changes, () => call("updateDataset", { path: { id }, json, signal })),
    );
  }

  /**
   * Deletes a dataset, its examples and their versions.
   *
   * @throws {@link ValidationError} neither id nor name, both, or an id that is not a UUID.
   * @throws {@link NotFoundError} `Dataset[...] not found`.
   */
  async delete(key: DatasetCall): Promise<void> {
    const { signal } = key;
    const { call } = this.asking;
    const id = await datasetIdOf(call, key, key);
    await answerOf(key, () => call("deleteDataset", { path: { id }, signal }));
  }

  /**
   * Deletes datasets, 100 at a time.
   *
   * @throws {@link ValidationError} an id is not a UUID.
   */
  async deleteMany(ids: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    checkIds(ids, "dataset id");
    for (const some of chunksOf(ids)) {
      await this.asking.call("deleteDatasets", { query: { dataset_ids: some }, signal });
    }
  }

  /**
   * The address of its page; as {@link DatasetCatalog.read}.
   *
   * @throws {@link NotFoundError} `No projects found to resolve tenant.`, where the tenant can't be determined.
   */
  async url(key: DatasetCall): Promise<string> {
    const { id, tenantId } = await this.read(key);
    const owner = tenantId ?? (await this.#tenants.own(key));
    return datasetUrl(this.host, { tenantId: owner, datasetId: id });
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
    throw new ValidationError("inputKeys must name at least one column, and no column is empty");
  }
}

/** What a file is called, where it is called something. */
function nameOf(file: ByteSource): string | undefined {
  if (file instanceof URL) {
    // Of another scheme it is refused where it should be read.
    return basename(file.protocol === "file:" ? fileURLToPath(file) : file.pathname);
  }
  if (typeof file === "string") {
    return basename(file);
  }
  const { name } = Object(file) as { readonly name?: unknown };
  return typeof name === "string" ? name : undefined;
}
