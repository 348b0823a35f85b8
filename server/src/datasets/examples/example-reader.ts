import type { ExampleTextSearch } from "./example-engine.ts";
import type { Expression } from "kysely";
import { RequestError } from "../../model/errors.ts";
import { toParameters } from "../../storage/query.ts";
import type { Database } from "../../storage/query.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import { throwDamaged, isIntact } from "../../storage/sqlite/checksum.ts";
import type { VersionTime } from "../dataset-version.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import type {
  Example,
  ExampleFilter,
  ExamplePageQuery,
  ExamplePreview,
  ExampleQuery,
  ExampleReads,
  ExampleSearch,
} from "./example.ts";
import { hasMetadata, hasText } from "./example-conditions.ts";
import {
  buildExampleCount,
  buildExampleList,
  buildPreviewList,
  exampleCountQueries,
  exampleLookupQueries,
  exampleListQueries,
  examplePageQueries,
  exampleQueries,
  previewListQueries,
  splitListQueries,
} from "./example-queries.ts";
import { parseExampleRow, parsePreviewRow, parseSplitList } from "./example-row.ts";

interface ExampleReaderDependencies {
  /** Decrypts the tokens of share links. */
  readonly tokenCipher: TokenCipher;
  readonly search: ExampleTextSearch;
}

export class ExampleReader implements ExampleReads {
  readonly #db: Database;
  readonly #search: ExampleTextSearch;
  readonly #versions: DatasetVersions;

  constructor(db: Database, { tokenCipher, search }: ExampleReaderDependencies) {
    this.#db = db;
    this.#search = search;
    this.#versions = new DatasetVersions(db, tokenCipher);
  }

  async find(tenantId: string, id: string, versionTime: VersionTime): Promise<Example | undefined> {
    const values = toScopeValues(tenantId, { ids: [id], versionTime });
    const row = await this.#db.first(exampleLookupQueries.select(values), values);
    return row && parseExampleRow(row);
  }

  async list(tenantId: string, query: ExampleQuery): Promise<readonly Example[]> {
    const { values, options, conditions } = await this.#prepareList(tenantId, query);
    const rows =
      conditions.length === 0
        ? await this.#db.all(exampleListQueries.select(values, options), values)
        : await this.#db.all(buildExampleList(toParameters(values), options, conditions));
    return rows.map(parseExampleRow);
  }

  async preview(
    tenantId: string,
    query: ExampleQuery,
    previewChars: number,
  ): Promise<readonly ExamplePreview[]> {
    const { values: listValues, options, conditions } = await this.#prepareList(tenantId, query);
    const values = { ...listValues, previewChars };
    const rows =
      conditions.length === 0
        ? await this.#db.all(previewListQueries.select(values, options), values)
        : await this.#db.all(buildPreviewList(toParameters(values), options, conditions));
    return rows.map(parsePreviewRow);
  }

  async count(tenantId: string, filter: ExampleFilter): Promise<number> {
    const values = toScopeValues(tenantId, filter);
    const conditions = this.#toConditions(filter);
    const row =
      conditions.length === 0
        ? await this.#db.first(exampleCountQueries.select(values), values)
        : await this.#db.first(buildExampleCount(toParameters(values), conditions));
    return row?.n ?? 0;
  }

  async page(
    tenantId: string,
    { after, limit, bytesMax, ...filter }: ExamplePageQuery,
  ): Promise<readonly Example[]> {
    const scope = toScopeValues(tenantId, await this.#preferNewest(tenantId, filter));
    const values = { ...scope, after, limit, bytesMax };
    const rows = await this.#db.all(examplePageQueries.select(values), values);
    return rows.map(parseExampleRow);
  }

  async listSources(tenantId: string, runIds: readonly string[]): Promise<readonly string[]> {
    const values = { tenantId, runIds: JSON.stringify(runIds) };
    const rows = await this.#db.all(exampleQueries.listSourceRunIds, values);
    return rows.flatMap(({ source_run_id: id }) => id ?? []);
  }

  async findDatasetId(tenantId: string, id: string): Promise<string | undefined> {
    return (await this.#db.first(exampleQueries.findLocation, { tenantId, id }))?.dataset_id;
  }

  async listSplits(
    tenantId: string,
    datasetId: string,
    versionTime: VersionTime,
  ): Promise<readonly string[]> {
    const values = toScopeValues(tenantId, { datasetId, versionTime });
    const rows = await this.#db.all(splitListQueries.select(values), values);
    const names = rows.flatMap(({ splits }) => (splits === null ? [] : parseSplitList(splits)));
    return [...new Set(names)].toSorted();
  }

  async search(
    tenantId: string,
    { datasetId, terms, condition, limit }: ExampleSearch,
  ): Promise<readonly Example[]> {
    const index = (await this.#versions.findDataset(tenantId, datasetId))?.index ?? null;
    if (index === null) {
      throw new RequestError(
        400,
        `the dataset is not indexed: POST /datasets/${datasetId}/index first`,
      );
    }
    const filter = { datasetId, versionTime: index.micros, ...(condition && { condition }) };
    const matchingExamples =
      terms.length === 0 ? [] : await this.#match(tenantId, filter, { terms, limit });
    // Like the LangSmith API, return some examples even if none is similar; here these are the newest.
    return matchingExamples.length > 0
      ? matchingExamples
      : this.list(tenantId, {
          filter,
          order: "recent",
          isDescending: true,
          seed: 0,
          limit,
          offset: 0,
        });
  }

  async findBlob(blob: number): Promise<Uint8Array | undefined> {
    const file = await this.#db.first(exampleQueries.findFile, { key: blob });
    if (file === undefined) {
      return undefined;
    }
    const { bytes, checksum, example_id: id } = file;
    return isIntact(checksum, bytes, id) ? bytes : throwDamaged(`a file of example ${id}`);
  }

  async #match(
    tenantId: string,
    filter: ExampleFilter,
    { terms, limit }: Pick<ExampleSearch, "terms" | "limit">,
  ): Promise<readonly Example[]> {
    const scope = toScopeValues(tenantId, await this.#preferNewest(tenantId, filter));
    const conditions = this.#toConditions(filter);
    const rows = await this.#search.match(scope, { conditions, terms, limit });
    return rows.map(parseExampleRow);
  }

  async #prepareList(tenantId: string, query: ExampleQuery) {
    const { order, isDescending, limit, offset } = query;
    const filter = await this.#preferNewest(tenantId, query.filter);
    return {
      values: {
        ...toScopeValues(tenantId, filter),
        after: await this.#findPosition(tenantId, query),
        seed: order === "random" ? query.seed : undefined,
        limit,
        offset,
      },
      options: { order, isDescending },
      conditions: this.#toConditions(filter),
    };
  }

  /**
   * Finds the position after which a list continues. With a position instead of an offset, every page is equally fast
   * to read, and concurrent writes do not shift the pages.
   */
  async #findPosition(
    tenantId: string,
    { order, after }: ExampleQuery,
  ): Promise<number | undefined> {
    if (order !== "written" || after === undefined) {
      return undefined;
    }
    const location = await this.#db.first(exampleQueries.findLocation, { tenantId, id: after });
    if (location === undefined) {
      throw new RequestError(
        404,
        "after must be the id of an example of the dataset; restart the list without it",
      );
    }
    return location.position;
  }

  /**
   * Creates the conditions for metadata, texts and a filter expression. A query that contains any of them is built anew
   * for each call.
   */
  #toConditions({ metadata, texts = [], condition }: ExampleFilter): Expression<boolean>[] {
    return [
      ...(metadata === undefined ? [] : [hasMetadata(metadata)]),
      ...texts.map(hasText),
      ...(condition === undefined ? [] : [this.#search.compile(condition)]),
    ];
  }

  /**
   * Replaces a time at or after the newest version by `null`, which means the newest version. Rows of the newest
   * version have an index of their own, which is faster than a search by time.
   */
  async #preferNewest<Filter extends ExampleFilter>(
    tenantId: string,
    filter: Filter,
  ): Promise<Filter> {
    const { datasetId: id, versionTime } = filter;
    if (id === undefined || versionTime === null) {
      return filter;
    }
    const row = await this.#db.first(exampleQueries.findNewestVersion, { tenantId, id });
    const newestMicros = row?.version_us ?? null;
    return newestMicros !== null && versionTime >= newestMicros
      ? { ...filter, versionTime: null }
      : filter;
  }
}

const toScopeValues = (
  tenantId: string,
  { datasetId, versionTime, ids, splits }: ExampleFilter,
) => ({
  tenantId,
  versionTime: versionTime ?? undefined,
  datasetId,
  ids: ids && JSON.stringify(ids),
  splits: splits && JSON.stringify(splits.map((name) => JSON.stringify(name))),
});
