import {
  requireItems,
  requireText,
  toItems,
  toNumber,
  toRecord,
  toText,
} from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import type { ScorerForm } from "./launch-draft.ts";

const fieldKinds = ["text", "flag", "number", "list", "json"] as const;

/** @throws TypeError `value` is not a list of scorers. */
export const parseScorers = (value: unknown): readonly ScorerForm[] =>
  requireItems(toRecord(value)["scorers"], "scorers").map((item) => {
    const form = toRecord(item);
    return {
      scorer: requireText(form, "scorer"),
      title: requireText(form, "title"),
      hint: toText(form["hint"]) ?? "",
      fields: toItems(form["fields"]).map((field) => {
        const members = toRecord(field);
        return {
          name: requireText(members, "name"),
          title: requireText(members, "title"),
          hint: toText(members["hint"]) ?? "",
          kind: fieldKinds.find((kind) => kind === members["kind"]) ?? "text",
          isRequired: members["isRequired"] === true,
        };
      }),
    };
  });

interface Range {
  readonly low: number;
  readonly high: number;
}

/** The estimate for one experiment, which runs one prompt with one model. */
export interface TargetEstimate {
  readonly name: string;
  readonly prompt: string;
  readonly rows: number;
  readonly inputTokens: Range;
  readonly outputTokens: Range;
  /** The estimated cost in US dollars, or a message that explains why it is unknown. */
  readonly cost: Range | string;
  /** The number of sampled examples that do not have all variables of the prompt. */
  readonly failing: number;
  /** The number of examples that the estimate used to fill in the prompt. */
  readonly sampled: number;
  /** The variables of the prompt. */
  readonly variables: readonly string[];
  /** The paths of the members of the examples, such as `inputs.question`. */
  readonly paths: readonly string[];
  /** The prompt, filled in with the first example. */
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
    readonly chars: number;
  }[];
  /** The tools and settings that were saved with the prompt and are sent with its messages, in words. */
  readonly sentParts: readonly string[];
  /** Why the prompt can't be filled in; `undefined` if it can. */
  readonly error: string | undefined;
}

export interface LaunchEstimate {
  /** Whether the output tokens are estimated from earlier experiments. */
  readonly isMeasured: boolean;
  readonly targets: readonly TargetEstimate[];
}

const toRange = (value: unknown): Range => {
  const { low, high } = toRecord(value);
  return { low: toNumber(low) ?? 0, high: toNumber(high) ?? 0 };
};

const toTexts = (value: unknown): readonly string[] =>
  toItems(value).filter((item): item is string => typeof item === "string");

/** The names of settings as the playground shows them. */
const settingLabels: readonly (readonly [name: string, label: string])[] = [
  ["temperature", "temperature"],
  ["maxTokens", "max tokens"],
  ["topP", "top p"],
  ["seed", "seed"],
  ["stop", "stop"],
  ["reasoningEffort", "reasoning effort"],
];

/**
 * Describes the tools and settings that were saved with a prompt and are sent with its messages: `tool look_up`,
 * `temperature 0.25`.
 */
function describeSentParts(preview: JsonMembers): readonly string[] {
  const tools = toTexts(preview["tools"]);
  const settings = toRecord(preview["settings"]);
  return [
    ...(tools.length === 0 ? [] : [`${tools.length === 1 ? "tool" : "tools"} ${tools.join(", ")}`]),
    ...(preview["has_schema"] === true ? ["output schema"] : []),
    ...settingLabels.flatMap(([name, label]) => {
      const value = settings[name];
      return value === undefined ? [] : [`${label} ${JSON.stringify(value)}`];
    }),
  ];
}

/** @throws TypeError `value` is not an estimate. */
export function parseEstimate(value: unknown): LaunchEstimate {
  const { targets, is_measured: isMeasured } = toRecord(value);
  return {
    isMeasured: isMeasured === true,
    targets: requireItems(targets, "estimates").map((item) => {
      const target = toRecord(item);
      const preview = toRecord(target["preview"]);
      return {
        name: requireText(target, "name"),
        prompt: requireText(target, "prompt"),
        rows: toNumber(target["rows"]) ?? 0,
        inputTokens: toRange(target["input_tokens"]),
        outputTokens: toRange(target["output_tokens"]),
        cost: toText(toRecord(target["cost"])["reason"]) ?? toRange(target["cost"]),
        failing: toNumber(target["failing"]) ?? 0,
        sampled: toNumber(target["sampled"]) ?? 0,
        variables: toTexts(preview["variables"]),
        paths: toTexts(preview["paths"]),
        messages: toItems(preview["messages"]).map((message) => {
          const { role, content, chars } = toRecord(message);
          const text = toText(content) ?? "";
          return { role: toText(role) ?? "", content: text, chars: toNumber(chars) ?? text.length };
        }),
        sentParts: describeSentParts(preview),
        error: toText(preview["error"]),
      };
    }),
  };
}

/** The sum of the estimated costs; `undefined` if one is unknown. */
export function sumCosts(targets: readonly TargetEstimate[]): Range | undefined {
  const sum = { low: 0, high: 0 };
  for (const { cost } of targets) {
    if (typeof cost === "string") {
      return undefined;
    }
    sum.low += cost.low;
    sum.high += cost.high;
  }
  return sum;
}

const jobStates = ["queued", "running", "succeeded", "failed", "canceled"] as const;

export interface ExperimentJob {
  readonly id: string;
  readonly experimentId: string;
  readonly name: string;
  readonly state: (typeof jobStates)[number];
  /** The number of finished rows. */
  readonly done: number;
  readonly total: number | undefined;
  readonly costUsd: number;
  /** The number of calls whose cost is unknown. */
  readonly unpricedCalls: number;
  /** The number of rows that failed. */
  readonly failureCount: number;
  /** The error message of the first row that failed. */
  readonly failure: string | undefined;
  /** Why the job itself failed. */
  readonly error: string | undefined;
}

/** Whether a job has not ended. */
export const isActive = ({ state }: ExperimentJob): boolean =>
  state === "queued" || state === "running";

/** @throws TypeError `value` is not a list of jobs. */
export const parseExperimentJobs = (value: unknown): readonly ExperimentJob[] =>
  requireItems(toRecord(value)["jobs"], "jobs").map((item) => {
    const job = toRecord(item);
    const progress = toRecord(job["progress"]);
    const figures = toRecord(progress["figures"]);
    const failures = toRecord(job["failures"]);
    return {
      id: requireText(job, "id"),
      experimentId: requireText(job, "experiment_id"),
      name: requireText(job, "name"),
      state: jobStates.find((state) => state === job["state"]) ?? "running",
      done: toNumber(progress["done"]) ?? 0,
      total: toNumber(progress["total"]),
      costUsd: toNumber(figures["cost_usd"]) ?? 0,
      unpricedCalls: toNumber(figures["unpriced_calls"]) ?? 0,
      failureCount: toNumber(failures["count"]) ?? 0,
      failure: toText(toItems(failures["messages"])[0]),
      error: toText(job["error"]),
    };
  });
