import { ResponseError } from "./errors.ts";
import type { KeyValues } from "./run.ts";

/** Creates the error for a successful response with unexpected content. `fault` says what is wrong with the content. */
export const createUnexpectedResponseError = (subject: string, fault: string): ResponseError =>
  new ResponseError(
    `The server's response is not a valid ${subject}: ${fault}. Check that the endpoint is the address of the API, and that the versions of client and server are compatible: "npx millrace doctor" checks both`,
  );

/**
 * Typed access to the members of a response. Only `readText` and `readNumber` throw if a member is missing or has the
 * wrong type.
 */
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
  readText(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string") {
      throw createUnexpectedResponseError(this.#subject, `${name} is not a string`);
    }
    return value;
  }

  /** @throws {@link ResponseError} if the member is not a number. */
  readNumber(name: string): number {
    const value = this.#values[name];
    if (typeof value !== "number") {
      throw createUnexpectedResponseError(this.#subject, `${name} is not a number`);
    }
    return value;
  }

  /** Returns a member that is a string; `undefined` if it is missing or has another type. */
  readOptionalText(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Returns a member that is a number; `undefined` if it is missing or has another type. */
  readOptionalNumber(name: string): number | undefined {
    const value = this.#values[name];
    return typeof value === "number" ? value : undefined;
  }

  /** Returns a member that is an object; an empty object if it is missing or has another type. */
  readObject(name: string): KeyValues {
    const value = this.#values[name];
    return isObject(value) ? value : {};
  }

  /** Returns the value of a member, of any type. */
  readValue(name: string): unknown {
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
