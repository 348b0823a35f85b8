import { ValidationError } from "../../model/errors.ts";
import type { LossReason } from "../../model/stats.ts";

/** Thrown if the queue has no capacity for the record that is being encoded. The record is dropped and counted. */
export class CapacityExceeded extends Error {}

/** Thrown when a value does not fit into the rest of its field. The part written so far stays in the record. */
export class FieldFull extends CapacityExceeded {
  /** Whether an object's key did not fit. If a value did not fit, a marker was already written in its place. */
  readonly isAtKey: boolean;

  constructor(atKey: boolean) {
    super();
    this.isAtKey = atKey;
  }
}

/** Returns the loss reason for a record whose encoding threw `error`. */
export function lossReasonOf(error: unknown): LossReason {
  if (error instanceof CapacityExceeded) {
    return "queueFull";
  }
  return error instanceof ValidationError ? "invalid" : "unencodable";
}
