import { validate } from "uuid";
import { ValidationError } from "./errors.ts";

/** True for the text of a UUID of any version. */
export const isUuid = (value: unknown): value is string =>
  typeof value === "string" && validate(value);

/**
 * Ids are checked before anything is sent (specification, section 5).
 *
 * @throws {@link ValidationError} `value` is not a UUID; the message names `what`.
 */
export function assertUuid(value: unknown, what: string): asserts value is string {
  if (!isUuid(value)) {
    throw new ValidationError(`Invalid UUID for ${what}: ${describe(value)}`);
  }
}

const describe = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : typeof value;
