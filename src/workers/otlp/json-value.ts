// Functions that read values of unknown form, as programs record them.

/** The members of an object. */
export type Members = Readonly<Record<string, unknown>>;

const noMembers: Members = {};

/** Whether a value is an object, and not a list. */
export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns an object's members; none if the value is not an object. */
export const toMembers = (value: unknown): Members => (isObject(value) ? value : noMembers);

/** Returns the items of a list; none if the value is not a list. */
export const toItems = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : [];

/** Returns the first of the values that is a text and not empty. */
export const firstText = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "");

/** Returns the first of the values that is a finite number. */
export const firstNumber = (...values: readonly unknown[]): number | undefined =>
  values.find((value): value is number => typeof value === "number" && Number.isFinite(value));

/** Returns the sum of the values that are finite numbers; `undefined` if none is. */
export function sumOfNumbers(...values: readonly unknown[]): number | undefined {
  const numbers = values.flatMap((value) => firstNumber(value) ?? []);
  return numbers.length === 0 ? undefined : numbers.reduce((sum, number) => sum + number, 0);
}

/** Returns a text unchanged, and any other value as JSON. */
export const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
