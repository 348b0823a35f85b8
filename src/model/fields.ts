import { ResponseError } from "./errors.ts";
import type { KeyValues } from "./run.ts";

/**
 * Creates the error for a successful response with unexpected content. `fault` says what is wrong
 * with it.
 */
export const createUnexpectedResponseError = (subject: string, fault: string): ResponseError =>
  new ResponseError(
    `The server's response is not a valid ${subject}: ${fault}. Check that the endpoint is the address of the API, and that the versions of client and server are compatible: "npx millrace doctor" checks both`,
  );

/** Typed access to the members of a response. Reading a member of the wrong type throws. */
export class Fields {
  readonly #values: KeyValues;
  readonly #subject: string;

  /** @throws {@link ResponseError} if `value` is not an object. */
  constructor(value: unknown, subject: string) {
    if (!isObject(value)) {
      throw createUnexpectedResponseError(subject, "it is not an object");
    }
    this.#values = value;
    this.#subject = subject;
  }

  /** @throws {@link ResponseError} if the member is not a string. */
  text(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string") {
      throw createUnexpectedResponseError(this.#subject, `${name} is not a string`);
    }
    return value;
  }

  /** @throws {@link ResponseError} if the member is not a number. */
  number(name: string): number {
    const value = this.#values[name];
    if (typeof value !== "number") {
      throw createUnexpectedResponseError(this.#subject, `${name} is not a number`);
    }
    return value;
  }

  /** `undefined` if the member is missing or not a string. */
  optionalText(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** `undefined` if the member is missing or not a number. */
  optionalNumber(name: string): number | undefined {
    const value = this.#values[name];
    return typeof value === "number" ? value : undefined;
  }

  /** An object; empty if the member is missing or not an object. */
  object(name: string): KeyValues {
    const value = this.#values[name];
    return isObject(value) ? value : {};
  }

  /** The member's value, of any type. */
  value(name: string): unknown {
    return this.#values[name];
  }
}

/**
 * Parses an array.
 *
 * @throws {@link ResponseError} if `value` is not an array.
 */
export function parseList<Item>(
  value: unknown,
  subject: string,
  parse: (item: unknown) => Item,
): Item[] {
  if (!Array.isArray(value)) {
    throw createUnexpectedResponseError(`list of ${subject}`, "it is not an array");
  }
  return (value as readonly unknown[]).map((item) => parse(item));
}

/** Copies an object without the members that are `undefined`. */
export const omitUndefined = <Shape extends object>(
  value: Shape,
): { readonly [Name in keyof Shape]: Exclude<Shape[Name], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    readonly [Name in keyof Shape]: Exclude<Shape[Name], undefined>;
  };

const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);
