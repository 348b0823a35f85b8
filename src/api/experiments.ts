import { ValidationError } from "../model/errors.ts";
import { parseComparative, parseComparison } from "../model/resources/experiment.ts";
import type { ComparativeExperiment, Comparison } from "../model/resources/experiment.ts";
import { omitUndefined, parseList } from "../model/fields.ts";
import { assertUuid, validateId, validateIds } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import { assertDatasetKey, resolveDatasetId, datasetKeyNames } from "./datasets/dataset-key.ts";
import type { DatasetKey } from "./datasets/dataset-key.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";
import { listByIds, emptyList, identifyById, listByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import type { Projects } from "./projects.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { CallTable } from "./http/known-arguments.ts";

/** Arguments of {@link Experiments.createComparative}. */
export interface CreateComparative extends CallOptions {
  readonly name: string;
  /** Ids of the experiments' projects; at least one. All of them must have run over the same dataset. */
  readonly experimentIds: readonly string[];
  /** @defaultValue the reference dataset of the first experiment */
  readonly referenceDatasetId?: string | undefined;
  readonly description?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  /** @defaultValue the current time */
  readonly createdAt?: Date | string | undefined;
  /** @defaultValue an id that the server generates */
  readonly id?: string | undefined;
}

/** Filters of {@link Experiments.listComparative}. A comparison is listed if it matches all of them. */
export type ListComparative = DatasetKey &
  CallOptions & {
    readonly ids?: readonly string[] | undefined;
    readonly name?: string | undefined;
    /** Substring of the name, case-insensitive. */
    readonly nameContains?: string | undefined;
    /** Maximum number of comparisons, at least 1. @defaultValue no limit */
    readonly limit?: number | undefined;
  };

/** Arguments of {@link Experiments.compare}. */
export type CompareExperiments = DatasetKey &
  CallOptions & {
    /** At least one. The id of an experiment is the id of its project. */
    readonly experimentIds: readonly string[];
    /** Only these examples. @defaultValue all examples of the dataset */
    readonly exampleIds?: readonly string[] | undefined;
    /**
     * For each experiment id: conditions that the experiment's runs must match, in the filter language
     * (docs/filter-language.md).
     */
    readonly filters?: Readonly<Record<string, readonly string[]>> | undefined;
    /** Only feedback that was given as part of this comparison. */
    readonly comparativeExperimentId?: string | undefined;
    /** Maximum number of examples, at least 1. @defaultValue no limit */
    readonly limit?: number | undefined;
  };

/** Compares experiments. An experiment is a project whose runs processed the examples of a dataset. */
export class Experiments {
  readonly #call: Call;
  readonly #projects: Projects;

  /** @internal */
  constructor(call: Call, projects: Projects) {
    this.#call = call;
    this.#projects = projects;
  }

  /**
   * Creates a comparison of experiments over one dataset, for feedback that ranks them. Repeating the call
   * creates another comparison.
   *
   * @throws {@link ValidationError} `At least one experiment is required`, `A reference dataset is required`,
   * or if the name is empty or an id is not a UUID.
   * @throws {@link NotFoundError} if an experiment or the dataset does not exist.
   */
  async createComparative(comparative: CreateComparative): Promise<ComparativeExperiment> {
    const { name, experimentIds, description, metadata, signal } = comparative;
    assertExperiments(experimentIds);
    if (typeof name !== "string" || name === "") {
      throw new ValidationError("The name of a comparative experiment must be a non-empty string");
    }
    const json = {
      id: validateId(comparative.id, "comparative experiment id"),
      name,
      experiment_ids: experimentIds,
      reference_dataset_id: validateId(comparative.referenceDatasetId, "reference dataset id"),
      description,
      created_at: toIsoTime(comparative.createdAt ?? new Date(), "createdAt"),
      extra: metadata === undefined ? {} : { metadata },
    };
    json.reference_dataset_id ??= await this.#readReferenceDatasetId(experimentIds[0], signal);
    if (json.reference_dataset_id === undefined) {
      throw new ValidationError(
        "A reference dataset is required: pass referenceDatasetId, or experiments that have a reference dataset",
      );
    }
    const init = { json: omitUndefined(json), signal };
    return parseComparative(await this.#call("createComparative", init));
  }

  /**
   * Lists the comparisons of a dataset's experiments, newest first. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if not exactly one of the dataset's id and name is given, an id is not a
   * UUID, or `limit` is not a whole number of at least 1.
   */
  listComparative(filter: ListComparative): Pages<ComparativeExperiment> {
    assertDatasetKey(filter);
    const { ids, name, nameContains, limit, signal } = filter;
    validateIds(ids, "comparative experiment id");
    const query = { name, name_contains: nameContains };
    let datasetId: string | undefined;
    return listByIds(ids, limit, (chunkOfIds, remainingLimit) =>
      listByOffset(
        remainingLimit,
        async (page) => {
          datasetId ??= await resolveDatasetId(this.#call, filter, { signal });
          const init = {
            path: { id: datasetId },
            query: { id: chunkOfIds, ...query, ...page },
            signal,
          };
          const response = await this.#call("listComparatives", init);
          return parseList(response, "comparative experiments", parseComparative);
        },
        identifyById,
      ),
    );
  }

  /**
   * Lists the examples of a dataset, each with the experiments' runs over it and the feedback on those runs.
   * Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} `At least one experiment is required`; otherwise as for
   * {@link Experiments.listComparative}.
   */
  compare(request: CompareExperiments): Pages<Comparison> {
    const { experimentIds, exampleIds, filters, limit, signal } = request;
    assertDatasetKey(request);
    assertExperiments(experimentIds);
    const wireRequest = omitUndefined({
      session_ids: experimentIds,
      example_ids: validateIds(exampleIds, "example id"),
      filters,
      comparative_experiment_id: validateId(
        request.comparativeExperimentId,
        "comparative experiment id",
      ),
    });
    if (exampleIds?.length === 0) {
      return emptyList(limit);
    }
    let id: string | undefined;
    return listByOffset(
      limit,
      async (page) => {
        id ??= await resolveDatasetId(this.#call, request, { signal });
        const init = { path: { id }, json: { ...wireRequest, ...page }, signal };
        const response = await this.#call("readDatasetRuns", init);
        return parseList(response, "examples with runs", (item) =>
          parseComparison(item, experimentIds),
        );
      },
      ({ example }) => example.id,
    );
  }

  async #readReferenceDatasetId(
    experimentId: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (experimentId === undefined) {
      return undefined;
    }
    return (await this.#projects.read({ projectId: experimentId, signal })).referenceDatasetId;
  }
}

/** Checks the ids of experiments. The error message begins like the message of LangSmith's client for this case. */
function assertExperiments(ids: readonly string[]): void {
  if (!Array.isArray(ids) || ids.length === 0) {
    throw new ValidationError(
      "At least one experiment is required: pass the ids of their projects as experimentIds",
    );
  }
  ids.forEach((id) => assertUuid(id, "experiment id"));
}

/** The option names that each method accepts. */
export const experimentCalls: CallTable<Experiments> = {
  compare: {
    args: [
      {
        ...callOptionKeys,
        ...datasetKeyNames,
        experimentIds: true,
        exampleIds: true,
        filters: true,
        comparativeExperimentId: true,
        limit: true,
      },
    ],
    throws: true,
  },
  createComparative: {
    args: [
      {
        ...callOptionKeys,
        id: true,
        name: true,
        description: true,
        metadata: true,
        experimentIds: true,
        referenceDatasetId: true,
        createdAt: true,
      },
    ],
  },
  listComparative: {
    args: [
      {
        ...callOptionKeys,
        ...datasetKeyNames,
        ids: true,
        name: true,
        nameContains: true,
        limit: true,
      },
    ],
    throws: true,
  },
};
