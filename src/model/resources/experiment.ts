import type { Example } from "./example.ts";
import { parseExample } from "./example.ts";
import { Fields, omitUndefined, parseList } from "../fields.ts";
import { parseRun } from "./run-response.ts";
import type { Run } from "./run-response.ts";
import type { KeyValues } from "../run.ts";

/** A comparison of several experiments over the same dataset. */
export interface ComparativeExperiment {
  readonly id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly referenceDatasetId: string;
  /** Free-form metadata: any JSON object. */
  readonly metadata: KeyValues;
  /** The compared experiments; present in lists. */
  readonly experiments?: readonly ComparedExperiment[] | undefined;
  /** Statistics by feedback key. */
  readonly feedbackStats: KeyValues;
  /** A time in ISO 8601 format. */
  readonly createdAt?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly modifiedAt?: string | undefined;
}

/** An experiment: a project whose runs refer to the examples of a dataset. */
export interface ComparedExperiment {
  readonly id: string;
  readonly name: string;
}

/** @throws {@link ResponseError} if `value` is not a comparative experiment. */
export function parseComparative(value: unknown): ComparativeExperiment {
  const fields = new Fields(value, "comparative experiment");
  const experiments = fields.readValue("experiments_info");
  return omitUndefined({
    id: fields.readText("id"),
    name: fields.readOptionalText("name"),
    description: fields.readOptionalText("description"),
    tenantId: fields.readOptionalText("tenant_id"),
    referenceDatasetId: fields.readText("reference_dataset_id"),
    metadata: new Fields(fields.readObject("extra"), "extra").readObject("metadata"),
    experiments: Array.isArray(experiments)
      ? parseList(experiments, "experiments", parseComparedExperiment)
      : undefined,
    feedbackStats: fields.readObject("feedback_stats"),
    createdAt: fields.readOptionalText("created_at"),
    modifiedAt: fields.readOptionalText("modified_at"),
  });
}

function parseComparedExperiment(value: unknown): ComparedExperiment {
  const fields = new Fields(value, "experiment");
  return { id: fields.readText("id"), name: fields.readText("name") };
}

/** An example, with the runs of each experiment. */
export interface Comparison {
  readonly example: Example;
  /**
   * The runs of each experiment, by the experiment's id: one run for each repetition, ordered by start time; empty if
   * the experiment has no run for the example.
   */
  readonly runs: Readonly<Record<string, readonly ComparedRun[]>>;
}

/** A run of an experiment, with its feedback. */
export interface ComparedRun {
  readonly run: Run;
  /** By feedback key: the number of feedback entries and their statistics. */
  readonly feedbackStats: KeyValues;
}

/**
 * Parses an example with its runs, which are grouped by experiment.
 *
 * @throws {@link ResponseError} if `value` is not an example with runs.
 */
export function parseComparison(value: unknown, experimentIds: readonly string[]): Comparison {
  const fields = new Fields(value, "example with runs");
  const runs = parseList(fields.readValue("runs"), "runs", parseRun).toSorted(compareStarts);
  return {
    example: parseExample(value),
    runs: Object.fromEntries(
      experimentIds.map((id) => [
        id,
        runs
          .filter(({ projectId }) => projectId === id)
          .map((run) => ({ run, feedbackStats: run.feedbackStats ?? {} })),
      ]),
    ),
  };
}

const compareStarts = (left: Run, right: Run): number =>
  (left.dottedOrder ?? "") < (right.dottedOrder ?? "") ? -1 : 1;
