import { omitUndefined } from "../omit-undefined.ts";
import type { Any } from "../any.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type {
  ComparativeExperiment,
  DataType,
  Dataset,
  DatasetDiffInfo,
  DatasetShareSchema,
  DatasetVersion,
  Example,
  KVMap,
} from "../schemas.ts";
import { convert } from "./base-client.ts";
import { ProjectMethods } from "./project-methods.ts";
import { toComparative, toDataset, toExample, toSnakeCase } from "./to-langsmith.ts";

/** A dataset by id or name. */
export interface DatasetSelector {
  datasetId?: string;
  datasetName?: string;
}

/** The part of the client for datasets. */
export class DatasetMethods extends ProjectMethods {
  async createDataset(
    name: string,
    options: {
      description?: string;
      dataType?: DataType;
      inputsSchema?: KVMap;
      outputsSchema?: KVMap;
      metadata?: Record<string, Any>;
      tagValueIds?: string[];
    } = {},
  ): Promise<Dataset> {
    const { tagValueIds, ...fields } = options;
    if (tagValueIds !== undefined) {
      throw createUnsupportedError("The option tagValueIds", "Put tags into the metadata.");
    }
    return toDataset(await this.millrace.datasets.create({ name, ...omitUndefined(fields) }));
  }

  async readDataset(dataset: DatasetSelector): Promise<Dataset> {
    return toDataset(await this.millrace.datasets.read(toDatasetKey(dataset)));
  }

  async hasDataset(dataset: DatasetSelector): Promise<boolean> {
    return this.millrace.datasets.has(toDatasetKey(dataset));
  }

  async getDatasetUrl(dataset: DatasetSelector): Promise<string> {
    return this.millrace.datasets.url(toDatasetKey(dataset));
  }

  async *listDatasets(
    filter: {
      limit?: number;
      offset?: number;
      datasetIds?: string[];
      datasetName?: string;
      datasetNameContains?: string;
      metadata?: Record<string, Any>;
    } = {},
  ): AsyncIterable<Dataset> {
    const { datasetNameContains, ...others } = filter;
    yield* convert(
      this.millrace.datasets.list(omitUndefined({ ...others, nameContains: datasetNameContains })),
      toDataset,
    );
  }

  async updateDataset(
    props: DatasetSelector & { name?: string; description?: string },
  ): Promise<Dataset> {
    const { name, description, ...dataset } = props;
    return toDataset(
      await this.millrace.datasets.update({
        ...toDatasetKey(dataset),
        ...omitUndefined({ name, description }),
      }),
    );
  }

  async deleteDataset(dataset: DatasetSelector): Promise<void> {
    await this.millrace.datasets.delete(toDatasetKey(dataset));
  }

  async uploadCsv(upload: {
    csvFile: Blob;
    fileName: string;
    inputKeys: string[];
    outputKeys: string[];
    description?: string;
    dataType?: DataType;
    name?: string;
  }): Promise<Dataset> {
    const { csvFile, ...fields } = upload;
    return toDataset(
      await this.millrace.datasets.createFromCsv({ file: csvFile, ...omitUndefined(fields) }),
    );
  }

  async readDatasetOpenaiFinetuning(dataset: DatasetSelector): Promise<Any[]> {
    const lines = await this.millrace.datasets.exportOpenAi(toDatasetKey(dataset)).toArray();
    return lines.map((line) => JSON.parse(line) as unknown);
  }

  async diffDatasetVersions({
    fromVersion,
    toVersion,
    ...dataset
  }: DatasetSelector & {
    fromVersion: string | Date;
    toVersion: string | Date;
  }): Promise<DatasetDiffInfo> {
    const diff = await this.millrace.datasets.diff({
      ...toDatasetKey(dataset),
      fromVersion,
      toVersion,
    });
    return toSnakeCase(diff) as unknown as DatasetDiffInfo;
  }

  async updateDatasetTag({
    asOf,
    tag,
    ...dataset
  }: DatasetSelector & { asOf: string | Date; tag: string }): Promise<void> {
    await this.millrace.datasets.tag({ ...toDatasetKey(dataset), asOf, tag });
  }

  async readDatasetVersion({
    asOf,
    tag,
    ...dataset
  }: DatasetSelector & { asOf?: string | Date; tag?: string }): Promise<DatasetVersion> {
    const version = await this.millrace.datasets.readVersion(
      tag === undefined
        ? { ...toDatasetKey(dataset), asOf: asOf ?? "latest" }
        : { ...toDatasetKey(dataset), tag },
    );
    return { as_of: version.asOf, tags: [...version.tags] };
  }

  async listDatasetSplits({
    asOf,
    ...dataset
  }: DatasetSelector & { asOf?: string | Date }): Promise<string[]> {
    const key = { ...toDatasetKey(dataset), ...omitUndefined({ asOf }) };
    return [...(await this.millrace.datasets.listSplits(key))];
  }

  async updateDatasetSplits({
    splitName,
    exampleIds,
    remove,
    ...dataset
  }: DatasetSelector & {
    splitName: string;
    exampleIds: string[];
    remove?: boolean;
  }): Promise<void> {
    await this.millrace.datasets.updateSplits({
      ...toDatasetKey(dataset),
      splitName,
      exampleIds,
      ...omitUndefined({ remove }),
    });
  }

  async readDatasetSharedSchema(
    datasetId?: string,
    datasetName?: string,
  ): Promise<DatasetShareSchema> {
    const key = toDatasetKey(omitUndefined({ datasetId, datasetName }));
    const share = await this.millrace.datasets.readShare(key);
    if (share === undefined) {
      throw new Error("The dataset is not shared. Call shareDataset first.");
    }
    return toSnakeCase(share) as unknown as DatasetShareSchema;
  }

  async shareDataset(datasetId?: string, datasetName?: string): Promise<DatasetShareSchema> {
    const key = toDatasetKey(omitUndefined({ datasetId, datasetName }));
    return toSnakeCase(await this.millrace.datasets.share(key)) as unknown as DatasetShareSchema;
  }

  async unshareDataset(datasetId: string): Promise<void> {
    await this.millrace.datasets.unshare({ datasetId });
  }

  async readSharedDataset(shareToken: string): Promise<Dataset> {
    return toDataset(await this.millrace.datasets.readShared(shareToken));
  }

  async listSharedExamples(
    shareToken: string,
    options: { exampleIds?: string[] } = {},
  ): Promise<Example[]> {
    const examples = this.millrace.datasets.listSharedExamples(shareToken, omitUndefined(options));
    return (await examples.toArray()).map(toExample);
  }

  async clonePublicDataset(
    tokenOrUrl: string,
    options: { sourceApiUrl?: string; datasetName?: string } = {},
  ): Promise<void> {
    const { kind, dataset } = await this.millrace.datasets.clone(
      tokenOrUrl,
      omitUndefined({ sourceEndpoint: options.sourceApiUrl, name: options.datasetName }),
    );
    if (kind === "skipped") {
      throw new Error(
        `Failed to clone the dataset: ${JSON.stringify(dataset.name)} already exists. Pass another datasetName.`,
      );
    }
  }

  async createComparativeExperiment(experiment: {
    name: string;
    experimentIds: string[];
    referenceDatasetId?: string;
    createdAt?: Date;
    description?: string;
    metadata?: Record<string, unknown>;
    id?: string;
  }): Promise<ComparativeExperiment> {
    return toComparative(
      await this.millrace.experiments.createComparative(omitUndefined(experiment)),
    );
  }
}

type DatasetKey = { readonly datasetId: string } | { readonly datasetName: string };

/** Converts the selection of a dataset to Millrace's form. @throws Error if it has neither an id nor a name. */
export function toDatasetKey({ datasetId, datasetName }: DatasetSelector): DatasetKey {
  if (datasetId !== undefined) {
    return { datasetId };
  }
  if (datasetName !== undefined) {
    return { datasetName };
  }
  throw new Error("Pass datasetId or datasetName.");
}
