import { ValidationError } from "./errors.ts";

const uuidPattern = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/**
 * Whether a value is a UUID. Any version is accepted, because the id of a run that was received as an OpenTelemetry
 * span can be any 16 bytes.
 */
export const isUuid = (value: unknown): value is string =>
  typeof value === "string" && uuidPattern.test(value);

/**
 * Checks an id before anything is sent.
 *
 * @throws {@link ValidationError} if `value` is not a UUID; the message contains `label`.
 */
export function assertUuid(value: unknown, label: string): asserts value is string {
  if (!isUuid(value)) {
    throw new ValidationError(
      `Invalid UUID for ${label}: ${describeValue(value)}. Pass the id as the server returned it: 32 hexadecimal digits grouped 8-4-4-4-12`,
    );
  }
}

/**
 * Checks an optional id and returns it.
 *
 * @throws {@link ValidationError} if it is not a UUID.
 */
export function validateId(id: string | undefined, label: string): string | undefined {
  if (id !== undefined) {
    assertUuid(id, label);
  }
  return id;
}

/**
 * Checks an optional array of ids and returns it.
 *
 * @throws {@link ValidationError} if one is not a UUID.
 */
export function validateIds(
  ids: readonly string[] | undefined,
  label: string,
): readonly string[] | undefined {
  if (ids !== undefined && !Array.isArray(ids)) {
    throw new ValidationError(`Invalid ${label}: expected an array of UUIDs`);
  }
  ids?.forEach((id) => assertUuid(id, label));
  return ids;
}

const describeValue = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : typeof value;
