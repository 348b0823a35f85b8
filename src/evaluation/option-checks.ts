import { ValidationError } from "../main/index.ts";
import type { Client, KeyValues } from "../main/index.ts";
import { formatValue } from "../model/index.ts";

/** The range and the default of an option. */
interface NumberRange {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** @throws {@link ValidationError} if the option is not a whole number in its range. */
export function readNumber(
  name: string,
  value: number | undefined,
  { fallback, min, max }: NumberRange,
): number {
  const number: unknown = value ?? fallback;
  if (typeof number !== "number" || !Number.isInteger(number) || number < min || number > max) {
    throw new ValidationError(
      `\`${name}\` must be a whole number from ${min} to ${max}, not ${formatValue(value)}`,
    );
  }
  return number;
}

/** @throws {@link ValidationError} if the option is given and is not a non-empty string. */
export function checkText(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && (typeof value !== "string" || value === "")) {
    throw new ValidationError(`\`${name}\` must be a non-empty string`);
  }
  return value;
}

/** The options that determine what is stored with an experiment, and the client that stores it. */
interface StoredOptions {
  readonly description?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  readonly client?: Client | undefined;
}

/** @throws {@link ValidationError} if an option is given and has a value of another type. */
export function checkStoredOptions({ description, metadata, client }: StoredOptions): void {
  const text: unknown = description;
  if (text !== undefined && typeof text !== "string") {
    throw new ValidationError(`\`description\` must be a string, not ${formatValue(text)}`);
  }
  if (metadata !== undefined && !isKeyValues(metadata)) {
    throw new ValidationError(
      `\`metadata\` must be an object such as { model: "gpt-5" }, not ${formatValue(metadata)}`,
    );
  }
  checkClient(client);
}

/** @throws {@link ValidationError} if the option is given and is not a client. */
export function checkClient(client: Client | undefined): void {
  // `instanceof` would fail for a client of another copy of the package, and a program can have two copies.
  if (
    client !== undefined &&
    !(isKeyValues(client) && "projects" in client && "redact" in client)
  ) {
    throw new ValidationError(
      "`client` must be a Client of millrace, such as new Client({ endpoint }). Leave it out to use one that the environment configures",
    );
  }
}

/** @throws {@link ValidationError} if the option is given and is not an AbortSignal. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new ValidationError("`signal` must be an AbortSignal");
  }
}

const isKeyValues = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The ranges and the defaults of the options that are whole numbers. */
export const ranges = {
  concurrency: { fallback: 10, min: 1, max: 10_000 },
  repetitions: { fallback: 1, min: 1, max: 1_000 },
  retries: { fallback: 0, min: 0, max: 100 },
  // The maximum is the longest delay of a Node timer.
  timeoutMs: { fallback: 600_000, min: 1, max: 2_147_483_647 },
} as const;
