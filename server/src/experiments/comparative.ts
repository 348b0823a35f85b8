import type { PageRange } from "../feedback/feedback.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** A comparison of experiments that is to be created. */
export interface ComparativeDraft {
  readonly id: string;
  readonly name: string | null;
  readonly description: string | null;
  /** Ids of the experiments, in the order in which they are shown. */
  readonly experimentIds: readonly string[];
  /** Id of the dataset of the experiments; if it is `null`, the dataset of the first experiment is used. */
  readonly datasetId: string | null;
  readonly extra: JsonObject | null;
  /** `null` means the current time. */
  readonly createdMicros: number | null;
}

/** An experiment of a comparison. */
export interface Experiment {
  readonly id: string;
  readonly name: string;
}

/** A comparison of experiments on one dataset. */
export interface Comparative extends Omit<ComparativeDraft, "experimentIds"> {
  readonly tenantId: string;
  readonly datasetId: string;
  /** The compared experiments that still exist. */
  readonly experiments: readonly Experiment[];
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

/** Selects comparisons. All filters that are set must match. */
export interface ComparisonQuery extends PageRange {
  readonly datasetId: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  readonly sortBy: "name" | "created_at";
  readonly isDescending: boolean;
}

/** The reads of stored comparisons between experiments. */
export interface ComparativeReads {
  list(tenantId: string, query: ComparisonQuery): Promise<readonly Comparative[]>;
}

/** The writes of stored comparisons between experiments. */
export interface ComparativeWrites {
  /**
   * Creates a comparison. Repeating the call with the same content changes nothing.
   *
   * @throws RequestError 404: experiments do not exist; the message lists them. 422: an experiment is on another
   * dataset, or on none. 409: another comparison has the id.
   */
  create(tenantId: string, draft: ComparativeDraft): Promise<Comparative>;
}
