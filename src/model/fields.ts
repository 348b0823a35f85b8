import { ResponseError } from "./errors.ts";
import type { KeyValues } from "./run.ts";

/** An answer of the right status that is not what the call answers: `fault` is what it lacks. */
export const unexpectedAnswer = (what: string, fault: string): ResponseError =>
  new ResponseError(
    `The server answered something that is not the ${what} that was asked for: ${fault}. Check that the endpoint is the address of the API, and that the versions of client and server fit: "npx millrace doctor" looks at both`,
  );

/** The members of what a server answered. Reading one that is of the wrong kind throws. */
export class Fields {
  readonly #values: KeyValues;
  readonly #what: string;

  /** @throws {@link ResponseError} `value` is not an object. */
  constructor(value: unknown, what: string) {
    if (!isObject(value)) {
      throw unexpectedAnswer(what, "it is not an object");
    }
    this.#values = value;
    this.#what = what;
  }

  /** @throws {@link ResponseError} it is not a text. */
  text(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string") {
      throw unexpectedAnswer(this.#what, `${name} is not a text`);
    }
    return value;
  }

  /** @throws {@link ResponseError} it is not a number. */
  number(name: string): number {
    const value = this.#values[name];
    if (typeof value !== "number") {
      throw unexpectedAnswer(this.#what, `${name} is not a number`);
    }
    return value;
  }

  /** `undefined` where there is none. */
  optionalText(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** `undefined` where there is none. */
  optionalNumber(name: string): number | undefined {
    const value = this.#values[name];
    return typeof value === "number" ? value : undefined;
  }

  /** Empty where there is none. */
  object(name: string): KeyValues {
    const value = this.#values[name];
    return isObject(value) ? value : {};
  }

  /** Whatever it is. */
  value(name: string): unknown {
    return this.#values[name];
  }
}

/** @throws {@link ResponseError} it is not a list. */
export function parseList<Item>(
  value: unknown,
  what: string,
  parse: (item: unknown) => Item,
): Item[] {
  if (!Array.isArray(value)) {
    throw unexpectedAnswer(`list of ${what}`, "it is not a list");
  }
  return (value as readonly unknown[]).map((item) => parse(item));
}

/** `value` without the members that are `undefined`. */
export const definedOf = <Shape extends object>(
  value: Shape,
): { readonly [Name in keyof Shape]: Exclude<Shape[Name], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    readonly [Name in keyof Shape]: Exclude<Shape[Name], undefined>;
  };

const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);
