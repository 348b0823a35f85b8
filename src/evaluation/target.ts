import type { EvaluationExample, ExampleAttachments } from "./data.ts";
import type { KeyValues, RunOptions } from "../main/index.ts";

/** The second argument of a target, after the inputs. */
export interface TargetContext<Inputs = KeyValues, Reference = KeyValues> {
  /** Aborted when the time of this call is up, or when the evaluation is aborted. */
  readonly signal: AbortSignal;
  readonly example: EvaluationExample<Inputs, Reference>;
  readonly attachments: ExampleAttachments;
  /** Counted from 1. */
  readonly repetition: number;
  /** Number of the attempt, counted from 1; more than 1 if an earlier attempt failed. */
  readonly attempt: number;
}

/** A function that is evaluated. */
export type TargetFunction<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> = (
  inputs: Inputs,
  context: TargetContext<Inputs, Reference>,
) => Outputs | Promise<Outputs>;

/**
 * Key of a method of a target, a {@link StartRowRun}. A target that has it starts and ends the root run of each row
 * itself. The package `@millrace/langsmith` uses it, because traced functions of langsmith record themselves.
 */
export const startRowRunKey = Symbol.for("millrace.startRowRun");

/** Starts the root run of a row. The id, the project and the start time must be those of the options. */
export type StartRowRun = (options: RunOptions) => RowRun;

/** The root run of a row. */
export interface RowRun {
  /** Whether the run is recorded. */
  readonly sampled: boolean;
  /** Calls a function with the run as the current run. */
  call<Result>(fn: () => Result): Result;
  end(outputs: unknown): void;
  fail(error: unknown): void;
  addEvent(event: { readonly name: string; readonly kwargs: KeyValues }): void;
}

/** The code that is evaluated: a function, or an object with the method `invoke`, such as a LangChain chain. */
export type Target<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> =
  | TargetFunction<Inputs, Outputs, Reference>
  | { readonly invoke: (inputs: Inputs) => Outputs | Promise<Outputs> };
