import type { Example } from "./example.ts";
import { parseExample } from "./example.ts";
import { Fields, definedOf, parseList } from "../fields.ts";
import { parseRun } from "./run-response.ts";
import type { Run } from "./run-response.ts";
import type { KeyValues } from "../run.ts";

/** Experiments over one dataset, set side by side. */
export interface ComparativeExperiment {
  readonly id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly referenceDatasetId: string;
  /** Free-form; a member of `extra`. */
  readonly metadata: KeyValues;
  /** Present where it was listed. */
  readonly experiments?: readonly ComparedExperiment[] | undefined;
  /** By feedback key. */
  readonly feedbackStats: KeyValues;
  /** ISO 8601. */
  readonly createdAt?: string | undefined;
  /** ISO 8601. */
  readonly modifiedAt?: string | undefined;
}

/** A project whose runs are over the examples of a dataset. */
export interface ComparedExperiment {
  readonly id: string;
  readonly name: string;
}

/** @throws {@link ResponseError} it is not a comparative experiment. */
export function parseComparative(value: unknown): ComparativeExperiment {
  const fields = new Fields(value, "comparative experiment");
  const experiments = fields.value("experiments_info");
  return definedOf({
    id: fields.text("id"),
    name: fields.optionalText("name"),
    description: fields.optionalText("description"),
    tenantId: fields.optionalText("tenant_id"),
    referenceDatasetId: fields.text("reference_dataset_id"),
    metadata: new Fields(fields.object("extra"), "extra").object("metadata"),
    experiments: Array.isArray(experiments)
      ? parseList(experiments, "experiments", parseComparedExperiment)
      : undefined,
    feedbackStats: fields.object("feedback_stats"),
    createdAt: fields.optionalText("created_at"),
    modifiedAt: fields.optionalText("modified_at"),
  });
}

function parseComparedExperiment(value: unknown): ComparedExperiment {
  const fields = new Fields(value, "experiment");
  return { id: fields.text("id"), name: fields.text("name") };
}

/** An example, and what each experiment made of it. */
export interface Comparison {
  readonly example: Example;
  /** By experiment id: a run for each repetition, in order of starting; empty where it has none. */
  readonly runs: Readonly<Record<string, readonly ComparedRun[]>>;
}

/** A run of an experiment beside its example, with its feedback. */
export interface ComparedRun {
  readonly run: Run;
  /** By feedback key: how often it was given, and what it came to. */
  readonly feedbackStats: KeyValues;
}

/**
 * An example with the runs over it, as the server has them, by experiment.
 *
 * @throws {@link ResponseError} it is not one.
 */
export function parseComparison(value: unknown, experimentIds: readonly string[]): Comparison {
  const fields = new Fields(value, "example with runs");
  const runs = parseList(fields.value("runs"), "runs", parseRun).toSorted(byStart);
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

const byStart = (left: Run, right: Run): number =>
  (left.dottedOrder ?? "") < (right.dottedOrder ?? "") ? -1 : 1;
