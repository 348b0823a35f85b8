import { ValidationError } from "../model/errors.ts";
import { parseComparative, parseComparison } from "../model/resources/experiment.ts";
import type { ComparativeExperiment, Comparison } from "../model/resources/experiment.ts";
import { definedOf, parseList } from "../model/fields.ts";
import { assertUuid, checkId, checkIds } from "../model/ids.ts";
import type { KeyValues } from "../model/run.ts";
import { assertDatasetKey, datasetIdOf } from "./datasets/dataset-key.ts";
import type { DatasetKey } from "./datasets/dataset-key.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";
import { pagesByIds, pagesByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import type { Projects } from "./projects.ts";

/** What {@link Experiments.createComparative} takes: experiments over one dataset. */
export interface CreateComparative extends CallOptions {
  readonly name: string;
  /** Projects whose runs are over the dataset: at least one. */
  readonly experimentIds: readonly string[];
  /** @defaultValue the first experiment's */
  readonly referenceDatasetId?: string | undefined;
  readonly description?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  /** @defaultValue now */
  readonly createdAt?: Date | string | undefined;
  /** @defaultValue one of the server's */
  readonly id?: string | undefined;
}

/** Every filter that is given must hold. */
export type ListComparative = DatasetKey &
  CallOptions & {
    readonly ids?: readonly string[] | undefined;
    readonly name?: string | undefined;
    /** Part of the name, in either case. */
    readonly nameContains?: string | undefined;
    /** Comparisons at most, from 1. @defaultValue all of them */
    readonly limit?: number | undefined;
  };

/** What {@link Experiments.compare} takes: experiments, and which examples and runs of them. */
export type CompareExperiments = DatasetKey &
  CallOptions & {
    /** At least one. */
    readonly experimentIds: readonly string[];
    /** Only these examples. */
    readonly exampleIds?: readonly string[] | undefined;
    /** Conditions on the runs, in the filter language, by experiment id. */
    readonly filters?: Readonly<Record<string, readonly string[]>> | undefined;
    /** Only the feedback of this comparison. */
    readonly comparativeExperimentId?: string | undefined;
    /** Examples at most, from 1. @defaultValue all of them */
    readonly limit?: number | undefined;
  };

/** Experiments: projects whose runs are over the examples of a dataset, side by side. */
export class Experiments {
  readonly #call: Call;
  readonly #projects: Projects;

  /** @internal */
  constructor(call: Call, projects: Projects) {
    this.#call = call;
    this.#projects = projects;
  }

  /**
   * Sets experiments over one dataset side by side, for feedback that ranks them. Repeated, it makes
   * another.
   *
   * @throws {@link ValidationError} `At least one experiment is required`,
   * `A reference dataset is required`, the name is empty, or an id is not a UUID.
   * @throws {@link NotFoundError} there is no such experiment or dataset.
   */
  async createComparative(comparative: CreateComparative): Promise<ComparativeExperiment> {
    const { name, experimentIds, description, metadata, signal } = comparative;
    assertExperiments(experimentIds);
    if (typeof name !== "string" || name === "") {
      throw new ValidationError("The name of a comparative experiment must be a text, not empty");
    }
    const json = {
      id: checkId(comparative.id, "comparative experiment id"),
      name,
      experiment_ids: experimentIds,
      reference_dataset_id: checkId(comparative.referenceDatasetId, "reference dataset id"),
      description,
      created_at: toIsoTime(comparative.createdAt ?? new Date(), "createdAt"),
      extra: metadata === undefined ? {} : { metadata },
    };
    json.reference_dataset_id ??= await this.#datasetOf(experimentIds[0], signal);
    if (json.reference_dataset_id === undefined) {
      throw new ValidationError(
        "A reference dataset is required: give referenceDatasetId, or experiments that were made over a dataset",
      );
    }
    const init = { json: definedOf(json), signal };
    return parseComparative(await this.#call("createComparative", init));
  }

  /**
   * Comparisons of a dataset's experiments by page, the latest first.
   *
   * @throws {@link ValidationError} neither id nor name of a dataset, both, an id that is not a UUID, or
   * `limit` not a whole number from 1.
   */
  listComparative(filter: ListComparative): Pages<ComparativeExperiment> {
    assertDatasetKey(filter);
    const { ids, name, nameContains, limit, signal } = filter;
    checkIds(ids, "comparative experiment id");
    const query = { name, name_contains: nameContains };
    let dataset: string | undefined;
    return pagesByIds(ids, limit, (id, wanted) =>
      pagesByOffset(wanted, async (page) => {
        dataset ??= await datasetIdOf(this.#call, filter, { signal });
        const init = { path: { id: dataset }, query: { id, ...query, ...page }, signal };
        const found = await this.#call("listComparatives", init);
        return parseList(found, "comparative experiments", parseComparative);
      }),
    );
  }

  /**
   * The examples of a dataset by page, each with the runs that the experiments made of it and their
   * feedback.
   *
   * @throws {@link ValidationError} `At least one experiment is required`; otherwise as
   * {@link Experiments.listComparative}.
   */
  compare(request: CompareExperiments): Pages<Comparison> {
    const { experimentIds, exampleIds, filters, limit, signal } = request;
    assertDatasetKey(request);
    assertExperiments(experimentIds);
    const wire = definedOf({
      session_ids: experimentIds,
      example_ids: checkIds(exampleIds, "example id"),
      filters,
      comparative_experiment_id: checkId(
        request.comparativeExperimentId,
        "comparative experiment id",
      ),
    });
    if (exampleIds?.length === 0) {
      return pagesByOffset(limit, async () => []);
    }
    let id: string | undefined;
    return pagesByOffset(limit, async (page) => {
      id ??= await datasetIdOf(this.#call, request, { signal });
      const init = { path: { id }, json: { ...wire, ...page }, signal };
      const found = await this.#call("readDatasetRuns", init);
      return parseList(found, "examples with runs", (one) => parseComparison(one, experimentIds));
    });
  }

  async #datasetOf(
    experimentId: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (experimentId === undefined) {
      return undefined;
    }
    return (await this.#projects.read({ projectId: experimentId, signal })).referenceDatasetId;
  }
}

/** The text is the specification's (section 5). */
function assertExperiments(ids: readonly string[]): void {
  if (!Array.isArray(ids) || ids.length === 0) {
    throw new ValidationError(
      "At least one experiment is required: give the ids of their projects as experimentIds",
    );
  }
  ids.forEach((id) => assertUuid(id, "experiment id"));
}
