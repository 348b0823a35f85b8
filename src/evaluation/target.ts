import type { EvaluationExample, ExampleAttachments } from "./data.ts";
import type { KeyValues } from "../main/index.ts";

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

/** The code that is evaluated: a function, or an object with the method `invoke`, such as a LangChain chain. */
export type Target<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> =
  | TargetFunction<Inputs, Outputs, Reference>
  | { readonly invoke: (inputs: Inputs) => Outputs | Promise<Outputs> };
