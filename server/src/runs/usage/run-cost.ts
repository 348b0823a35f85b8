import type { RunMeasures } from "./measures.ts";

/** The types of runs that call a model. Only their usage is summed: other runs repeat the usage of their children. */
const modelCallTypes: readonly string[] = ["llm", "embedding"];

export const isModelCall = (runType: string): boolean => modelCallTypes.includes(runType);

/** Maximum length of the model name that is shown for runs without a price. Longer names are cut off. */
export const maxModelNameChars = 200;

/** SQL for the condition that a run calls a model. */
export const createModelCallSql = (runTypeColumn: string): string =>
  `${runTypeColumn} IN (${modelCallTypes.map((type) => `'${type}'`).join(", ")})`;

/** Rounds a cost to the precision of prices. Further digits are rounding errors of floating-point arithmetic. */
export const roundCost = (cost: number): number => Number(cost.toPrecision(12));

/** Counts of tokens that have prices of their own. They are part of the input or of the output tokens. */
export interface TokenDetails {
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is stored for an hour instead of for five minutes. */
  readonly cacheWriteHour: number;
  readonly inputAudio: number;
  readonly reasoning: number;
  readonly outputAudio: number;
}

/** The facts on which the price of a model call depends, which the call reports in addition to its measures. */
export interface RunBilling {
  /** The names under which the run reports its model, the one that the program requested first. */
  readonly models: readonly string[];
  readonly provider: string | null;
  /** The service tier, such as `batch`; `null` for the standard tier, `undefined` if the run names none. */
  readonly serviceTier: string | null | undefined;
  readonly details: TokenDetails;
}

/** The usage of a run, as the run reports it. */
export interface ReportedUsage {
  readonly measures: RunMeasures;
  /** Absent if the run reports no tokens. */
  readonly billing?: RunBilling | undefined;
}

/** How the server determined the cost of a run. Runs that report their cost themselves have no basis. */
export type CostBasis = ComputedCost | UnknownCost;

/** Costs by kind of token. The keys are those of the token details in usage metadata. */
export type CostDetails = Readonly<Record<string, number>>;

export interface ComputedCost {
  /** Where the price comes from: the library of public prices, or the price table of the tenant. */
  readonly source: "library" | "table";
  /** The provider and the model whose price was used. */
  readonly provider: string | null;
  readonly model: string;
  readonly tier?: string;
  readonly input: CostDetails;
  readonly output: CostDetails;
}

export interface UnknownCost {
  /** A sentence that explains why the cost of the run is unknown. */
  readonly reason: string;
  /** The model for which no price is known; absent if the run names no model, or if the model has a price. */
  readonly model?: string;
}

/** The measures of a run including its cost. */
export interface PricedUsage {
  readonly measures: RunMeasures;
  /** JSON of the {@link CostBasis}; `null` if the run reports its cost itself, or has no usage. */
  readonly basisJson: string | null;
  /** The name of the model, if no price is known for it. */
  readonly unknownModel?: string;
}

export interface StoredCost {
  readonly total_cost: number | null;
  readonly prompt_cost: number | null;
  readonly completion_cost: number | null;
  readonly basis: CostBasis | null;
}

/** The progress of computing the costs of a tenant's stored runs again. */
export interface RecomputeProgress {
  /** Runs up to this row number, or on PostgreSQL up to this place (`run-places.ts`), were examined. */
  readonly position: number;
  /** The row number, or on PostgreSQL the place, up to which runs are to be examined. */
  readonly last: number;
  readonly isDone: boolean;
  /** Model calls with usage whose cost was computed again. */
  readonly examined: number;
  readonly changed: number;
  /** Runs whose payload is damaged on disk; their cost was not changed. */
  readonly unreadable: number;
  /** Number of runs by model, for models without a known price. */
  readonly unknownModels: Readonly<Record<string, number>>;
}
