import { ValidationError } from "./errors.ts";

const uuidPattern = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/**
 * True for the text of a UUID of any version: the ids of runs that were received as spans of
 * OpenTelemetry are any 16 bytes.
 */
export const isUuid = (value: unknown): value is string =>
  typeof value === "string" && uuidPattern.test(value);

/**
 * Ids are checked before anything is sent (specification, section 5).
 *
 * @throws {@link ValidationError} `value` is not a UUID; the message names `what`.
 */
export function assertUuid(value: unknown, what: string): asserts value is string {
  if (!isUuid(value)) {
    throw new ValidationError(
      `Invalid UUID for ${what}: ${describe(value)}. Give 32 hexadecimal digits as 8-4-4-4-12, as the server returned the id`,
    );
  }
}

/**
 * The id, where one is given.
 *
 * @throws {@link ValidationError} it is not a UUID.
 */
export function checkId(id: string | undefined, what: string): string | undefined {
  if (id !== undefined) {
    assertUuid(id, what);
  }
  return id;
}

/**
 * The ids, where some are given.
 *
 * @throws {@link ValidationError} one is not a UUID.
 */
export function checkIds(
  ids: readonly string[] | undefined,
  what: string,
): readonly string[] | undefined {
  if (ids !== undefined && !Array.isArray(ids)) {
    throw new ValidationError(`Ids must be in an array, each a UUID: ${what}`);
  }
  ids?.forEach((id) => assertUuid(id, what));
  return ids;
}

const describe = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : typeof value;
