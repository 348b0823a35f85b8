import type { PageRange } from "../feedback/feedback.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface ComparativeDraft {
  readonly id: string;
  readonly name: string | null;
  readonly description: string | null;
  /** Projects, in the order in which they are shown. */
  readonly experimentIds: readonly string[];
  /** `null`: that of the experiments. */
  readonly datasetId: string | null;
  readonly extra: JsonObject | null;
  /** `null`: now. */
  readonly createdMicros: number | null;
}

export interface Experiment {
  readonly id: string;
  readonly name: string;
}

/** Experiments over one dataset that are looked at side by side. */
export interface Comparative extends Omit<ComparativeDraft, "experimentIds"> {
  readonly tenantId: string;
  readonly datasetId: string;
  /** Those that are still there. */
  readonly experiments: readonly Experiment[];
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

/** Every filter that is given must hold. */
export interface ComparativeQuery extends PageRange {
  readonly datasetId: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  readonly sortBy: "name" | "created_at";
  readonly isDescending: boolean;
}

export interface ComparativeReads {
  list(tenantId: string, query: ComparativeQuery): readonly Comparative[];
}

export interface ComparativeWrites {
  /**
   * Repeated with the same content, it changes nothing.
   *
   * @throws RequestError 404: an experiment is not there; it is named. 422: an experiment is over
   * another dataset, or over none. 409: the id is another comparison's.
   */
  create(tenantId: string, draft: ComparativeDraft): Comparative;
}
