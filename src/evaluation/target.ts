import type { EvaluationExample, ExampleAttachments } from "./data.ts";
import type { KeyValues } from "../main/index.ts";

/** What a target gets in addition to the inputs. */
export interface TargetContext<Inputs = KeyValues, Reference = KeyValues> {
  /** Aborted when the time of this call is up, or when the evaluation is aborted. */
  readonly signal: AbortSignal;
  readonly example: EvaluationExample<Inputs, Reference>;
  readonly attachments: ExampleAttachments;
  /** Counted from 1. */
  readonly repetition: number;
  /** Counted from 1; more than 1 if an earlier attempt failed. */
  readonly attempt: number;
}

/** A function under evaluation. */
export type TargetFunction<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> = (
  inputs: Inputs,
  context: TargetContext<Inputs, Reference>,
) => Outputs | Promise<Outputs>;

/** The program under evaluation: a function, or an object with the method `invoke`, such as a chain of LangChain. */
export type Target<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues> =
  | TargetFunction<Inputs, Outputs, Reference>
  | { readonly invoke: (inputs: Inputs) => Outputs | Promise<Outputs> };
