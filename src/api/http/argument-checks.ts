/**
 * Checks the value of an option. Returns what is wrong with it, as the end of a sentence about the option;
 * `undefined` if it is valid. Options that are left out are not checked.
 */
export type ArgumentCheck = (value: unknown) => string | undefined;

/** Requires a list of texts. */
export const texts: ArgumentCheck = (value) => {
  if (Array.isArray(value)) {
    return value.every((item) => typeof item === "string")
      ? undefined
      : "must be a list of texts, not a list of other values";
  }
  const advice = value === null ? ": pass [] for none" : "";
  return `must be a list of texts, not ${describeType(value)}${advice}`;
};

/** Requires a boolean. */
export const flag: ArgumentCheck = (value) =>
  typeof value === "boolean" ? undefined : `must be true or false, not ${describeType(value)}`;

/** Requires one of these values. */
export const oneOf =
  (...values: readonly (string | boolean)[]): ArgumentCheck =>
  (value) =>
    values.some((known) => known === value)
      ? undefined
      : `must be one of ${values.map((known) => JSON.stringify(known)).join(", ")}`;

/**
 * Requires an AbortSignal. A signal of another library or realm is accepted if it has `aborted` and
 * `addEventListener`.
 */
export const abortSignal: ArgumentCheck = (value) => {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function"
    ? undefined
    : `must be an AbortSignal, not ${describeType(value)}: pass the signal of an AbortController, or AbortSignal.timeout(ms)`;
};

/**
 * Refuses `null`, which servers read as "unchanged".
 *
 * @param empty - code of the value that removes the current one, such as `{}`, for the error message.
 */
export const notNull =
  (empty: string): ArgumentCheck =>
  (value) =>
    value === null
      ? `can't be null: pass ${empty} to remove the value, or leave it out to keep it`
      : undefined;

/** Describes the type of a value in an error message, without the value itself. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) {
    return String(value);
  }
  if (Array.isArray(value)) {
    return "a list";
  }
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
