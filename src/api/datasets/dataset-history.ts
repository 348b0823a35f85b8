import {
  parseDatasetDiff,
  parseDatasetVersion,
  parseTexts,
} from "../../model/resources/dataset-version.ts";
import type { DatasetDiff, DatasetVersion } from "../../model/resources/dataset-version.ts";
import { ValidationError } from "../../model/errors.ts";
import { definedOf, parseList } from "../../model/fields.ts";
import { checkId, checkIds } from "../../model/ids.ts";
import { DatasetCatalog } from "./dataset-catalog.ts";
import { answerOf, assertDatasetKey, datasetIdOf, toVersion } from "./dataset-key.ts";
import type {
  DatasetAsOf,
  DiffDataset,
  ListDatasetVersions,
  ReadDatasetVersion,
  TagDataset,
  UpdateDatasetSplits,
} from "./dataset-options.ts";
import { pagesByOffset } from "../http/pages.ts";
import type { Pages } from "../http/pages.ts";

/** Versions of datasets, and their splits. Each throws as {@link DatasetCatalog.read} for its dataset. */
export class DatasetHistory extends DatasetCatalog {
  /**
   * Versions by page, the latest first.
   *
   * @throws {@link ValidationError} `exampleId` is not a UUID, or `limit` not a whole number from 1.
   */
  listVersions(filter: ListDatasetVersions): Pages<DatasetVersion> {
    assertDatasetKey(filter);
    const { search, limit, signal } = filter;
    const { call } = this.asking;
    const query = { search, example: checkId(filter.exampleId, "example id") };
    let id: string;
    return pagesByOffset(limit, async (page) => {
      id = page.offset === 0 ? await datasetIdOf(call, filter, filter) : id;
      const init = { path: { id }, query: { ...query, ...page }, signal };
      const found = await answerOf(filter, () => call("listDatasetVersions", init));
      return parseList(found, "versions of a dataset", parseDatasetVersion);
    });
  }

  /**
   * The version that was in force at a time, or has a tag.
   *
   * @throws {@link ValidationError} neither time nor tag, or both.
   * @throws {@link NotFoundError} there was none then, or none has the tag.
   */
  async readVersion(key: ReadDatasetVersion): Promise<DatasetVersion> {
    const { asOf, tag, signal } = key;
    if ((asOf === undefined) === (tag === undefined)) {
      throw new ValidationError("Exactly one of asOf and tag must be provided");
    }
    const query = { as_of: toVersion(asOf, "asOf"), tag: toVersion(tag, "tag") };
    const id = await datasetIdOf(this.asking.call, key, key);
    const init = { path: { id }, query, signal };
    return parseDatasetVersion(await this.asking.call("readDatasetVersion", init));
  }

  /**
   * Gives a version a tag; a version that has it loses it. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} the tag is empty, or `asOf` no version.
   * @throws {@link NotFoundError} there is no such version.
   */
  async tag(request: TagDataset): Promise<DatasetVersion> {
    const { tag, signal } = request;
    if (typeof tag !== "string" || tag === "") {
      throw new ValidationError("The tag of a version must be a text, not empty");
    }
    const json = { as_of: required(request.asOf, "asOf"), tag };
    const id = await datasetIdOf(this.asking.call, request, request);
    const init = { path: { id }, json, signal };
    return parseDatasetVersion(await this.asking.call("tagDatasetVersion", init));
  }

  /**
   * Ids of the examples that came, changed and went between two versions.
   *
   * @throws {@link ValidationError} one of the two is no version.
   * @throws {@link NotFoundError} there is no such version.
   */
  async diff(request: DiffDataset): Promise<DatasetDiff> {
    const query = {
      from_version: required(request.fromVersion, "fromVersion"),
      to_version: required(request.toVersion, "toVersion"),
    };
    const id = await datasetIdOf(this.asking.call, request, request);
    const init = { path: { id }, query, signal: request.signal };
    return parseDatasetDiff(await this.asking.call("diffDatasetVersions", init));
  }

  /** Names of the splits that its examples are in. */
  async listSplits(key: DatasetAsOf): Promise<readonly string[]> {
    const query = { as_of: toVersion(key.asOf, "asOf") };
    const id = await datasetIdOf(this.asking.call, key, key);
    const init = { path: { id }, query, signal: key.signal };
    return parseTexts(await this.asking.call("listDatasetSplits", init), "splits");
  }

  /**
   * Puts examples into a split, or takes them out of it. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} the split has no name, no example is named, or an id is not a UUID.
   */
  async updateSplits(request: UpdateDatasetSplits): Promise<void> {
    const { splitName, exampleIds, remove = false, signal } = request;
    if (typeof splitName !== "string" || splitName === "") {
      throw new ValidationError("The name of a split must be a text, not empty");
    }
    if (!Array.isArray(exampleIds) || exampleIds.length === 0) {
      throw new ValidationError("exampleIds must name at least one example");
    }
    const json = definedOf({
      split_name: splitName,
      examples: checkIds(exampleIds, "example id"),
      remove,
    });
    const id = await datasetIdOf(this.asking.call, request, request);
    await this.asking.call("updateDatasetSplits", { path: { id }, json, signal });
  }
}

function required(version: Date | string | undefined, name: string): string {
  const given = toVersion(version, name);
  if (given === undefined) {
    throw new ValidationError(`${name} must be a Date, a text that is a time, or a tag`);
  }
  return given;
}
