import { ValidationError } from "../main/index.ts";

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
      `\`${name}\` must be a whole number from ${min} to ${max}, not ${String(value)}`,
    );
  }
  return number;
}

/** @throws {@link ValidationError} if the option is given and is not a text, or is empty. */
export function checkText(name: string, value: string | undefined): string | undefined {
  if (value !== undefined && (typeof value !== "string" || value === "")) {
    throw new ValidationError(`\`${name}\` must be a text that is not empty`);
  }
  return value;
}

export const ranges = {
  concurrency: { fallback: 10, min: 1, max: 10_000 },
  repetitions: { fallback: 1, min: 1, max: 1_000 },
  retries: { fallback: 0, min: 0, max: 100 },
  // The longest time that a timer of Node can wait.
  timeoutMs: { fallback: 600_000, min: 1, max: 2_147_483_647 },
} as const;
