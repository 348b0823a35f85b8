import { ValidationError } from "../../model/errors.ts";
import type { LossReason } from "../../model/stats.ts";

/** Thrown through a record that finds no room; the record is dropped and counted. */
export class CapacityExceeded extends Error {}

/** Thrown through the walk of a value when its field is full: what is written stays, and is closed. */
export class FieldFull extends CapacityExceeded {
  /** Whether it was a key that found no room; for a value there is a marker already. */
  readonly atKey: boolean;

  constructor(atKey: boolean) {
    super();
    this.atKey = atKey;
  }
}

/** What a record is counted as that could not be encoded for this. */
export function lossOf(error: unknown): LossReason {
  if (error instanceof CapacityExceeded) {
    return "queueFull";
  }
  return error instanceof ValidationError ? "invalid" : "unencodable";
}
