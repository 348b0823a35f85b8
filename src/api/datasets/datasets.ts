import { parseDataset } from "../../model/resources/dataset.ts";
import type { Dataset } from "../../model/resources/dataset.ts";
import { parseDatasetShare } from "../../model/resources/dataset-share.ts";
import type { DatasetShare } from "../../model/resources/dataset-share.ts";
import { ValidationError } from "../../model/errors.ts";
import { parseCount, parseExample } from "../../model/resources/example.ts";
import type { Example } from "../../model/resources/example.ts";
import { Fields, definedOf, parseList } from "../../model/fields.ts";
import { publicToken, sharedDatasetUrl } from "../../model/links.ts";
import { cloneDataset } from "./dataset-clone.ts";
import type { CloneTools, ClonedDataset } from "./dataset-clone.ts";
import { DatasetHistory } from "./dataset-history.ts";
import { answerOf, assertDatasetKey, datasetIdOf, toVersion } from "./dataset-key.ts";
import type {
  CloneDataset,
  DatasetAsOf,
  DatasetCall,
  FilterSharedExamples,
  IndexDataset,
  ListSharedExamples,
  SearchDataset,
} from "./dataset-options.ts";
import type { EndpointName } from "../../model/endpoints.ts";
import type { Examples } from "./examples.ts";
import type { ApiTransport, CallOptions } from "../http/http.ts";
import { Pages, idsByRequest } from "../http/pages.ts";
import { ServerInfoReader } from "../http/server-info.ts";
import { listSharedExamples, sharedQuery } from "./shared-examples.ts";
import { linesOf } from "../http/text-lines.ts";
import type { TenantIds } from "../tenant-ids.ts";

export interface DatasetsInit {
  readonly host: string;
  /** Base address of the API. */
  readonly endpoint: string;
  readonly tenants: TenantIds;
  readonly examples: Examples;
  /** Where what a person should know goes. */
  readonly warn: (message: string) => void;
}

const searchLimit = 100;

/**
 * Datasets: examples to measure an application by, in versions and splits. Calls that name one by `id`
 * or by `name` throw as `datasets.read`.
 */
export class Datasets extends DatasetHistory {
  readonly #cloning: CloneTools;

  /** @internal */
  constructor(asking: ApiTransport, { host, tenants, ...tools }: DatasetsInit) {
    super(asking, host, tenants);
    this.#cloning = { datasets: this, info: new ServerInfoReader(asking.call), ...tools };
  }

  /** Makes a dataset readable by anyone who holds the link. Calling it again answers the same link. */
  async share(key: DatasetCall): Promise<DatasetShare> {
    const answer = await this.#ask("shareDataset", key);
    return parseDatasetShare(answer, (token) => sharedDatasetUrl(this.host, token));
  }

  /** Takes the link back; the next one is another. Calling it again changes nothing. */
  async unshare(key: DatasetCall): Promise<void> {
    await this.#ask("unshareDataset", key);
  }

  /** The link under which it is shared; `undefined` where it is not. */
  async readShare(key: DatasetCall): Promise<DatasetShare | undefined> {
    const answer = await this.#ask("readDatasetShare", key);
    return answer === null
      ? undefined
      : parseDatasetShare(answer, (token) => sharedDatasetUrl(this.host, token));
  }

  /**
   * Reads a shared dataset, by its link or by the token in it. Needs no key.
   *
   * @throws {@link ValidationError} `Invalid public dataset URL or token`.
   * @throws {@link NotFoundError} nothing is shared under it, or no longer.
   */
  async readShared(urlOrToken: string, { signal }: CallOptions = {}): Promise<Dataset> {
    const token = publicToken(urlOrToken, { what: "dataset" });
    return parseDataset(await this.asking.call("readSharedDataset", { path: { token }, signal }));
  }

  /**
   * Examples of a shared dataset by page, as they are consumed. Needs no key.
   *
   * @throws {@link ValidationError} `Invalid public dataset URL or token`, an id that is not a UUID, or
   * `limit` not a whole number from 1.
   * @throws {@link HttpError} `Failed to list shared examples.`, with status and detail.
   */
  listSharedExamples(urlOrToken: string, filter: ListSharedExamples = {}): Pages<Example> {
    return listSharedExamples(this.asking.call, urlOrToken, filter);
  }

  /** How many examples of a shared dataset a filter holds of; as `datasets.listSharedExamples`. */
  async countSharedExamples(
    urlOrToken: string,
    { signal, ...filter }: FilterSharedExamples = {},
  ): Promise<number> {
    const token = publicToken(urlOrToken, { what: "dataset" });
    const query = sharedQuery(filter);
    let count = 0;
    for (const id of idsByRequest(filter.exampleIds)) {
      const init = { path: { token }, query: { ...query, id }, signal };
      count += parseCount(await this.asking.call("countSharedExamples", init));
    }
    return count;
  }

  /**
   * Copies a shared dataset and its examples to the client's own tenant, their attachments too where
   * its server takes them. Where a dataset has the name already, nothing is done, which is logged.
   *
   * @throws {@link ValidationError} `Invalid public dataset URL or token`.
   * @throws {@link NotFoundError} nothing is shared under it, or no longer.
   * @throws {@link IncompleteError} the dataset was made, but not all of its examples: it must be deleted
   * by hand, which is logged too.
   */
  async clone(urlOrToken: string, options: CloneDataset = {}): Promise<ClonedDataset> {
    const token = publicToken(urlOrToken, { what: "dataset" });
    return cloneDataset(this.asking, { token, ...options }, this.#cloning);
  }

  /**
   * The examples in the format that models are fine-tuned with, a line of JSON each, read as they come.
   *
   * @throws {@link HttpError} an example is not of that format.
   */
  exportOpenAi(key: DatasetAsOf): Pages<string> {
    return this.#export("exportDatasetOpenAi", key);
  }

  /** The examples as CSV, text line by text line, read as they come: a field may hold several lines. */
  exportCsv(key: DatasetAsOf): Pages<string> {
    return this.#export("exportDatasetCsv", key);
  }

  /** The examples, a line of JSON each, read as they come. */
  exportJsonl(key: DatasetAsOf): Pages<string> {
    return this.#export("exportDatasetJsonl", key);
  }

  /** Makes a version ready to be searched. Repeating it changes nothing more. */
  async index(request: IndexDataset): Promise<void> {
    const json = definedOf({ tag: toVersion(request.tag, "tag") });
    const id = await datasetIdOf(this.asking.call, request, request);
    await this.asking.call("indexDataset", { path: { id }, json, signal: request.signal });
  }

  /**
   * The examples whose inputs are most like these, the most alike first.
   *
   * @throws {@link ValidationError} `limit` is not a whole number from 1 to 100.
   */
  async search(request: SearchDataset): Promise<Example[]> {
    const { inputs, limit = 5, filter, signal } = request;
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > searchLimit) {
      throw new ValidationError(
        `limit must be a whole number from 1 to ${searchLimit}, not ${limit}`,
      );
    }
    const json = definedOf({ inputs, limit, filter });
    const id = await datasetIdOf(this.asking.call, request, request);
    const answer = await this.asking.call("searchDataset", { path: { id }, json, signal });
    return parseList(new Fields(answer, "search").value("examples"), "examples", parseExample);
  }

  async #ask(name: EndpointName, key: DatasetCall): Promise<unknown> {
    const { call } = this.asking;
    const id = await datasetIdOf(call, key, key);
    return answerOf(key, () => call(name, { path: { id }, signal: key.signal }));
  }

  #export(name: EndpointName, key: DatasetAsOf): Pages<string> {
    assertDatasetKey(key);
    const query = { as_of: toVersion(key.asOf, "asOf") };
    const { asking } = this;
    return new Pages(async function* pages() {
      const id = await datasetIdOf(asking.call, key, key);
      yield* linesOf(asking.download(name, { path: { id }, query, signal: key.signal }));
    });
  }
}
