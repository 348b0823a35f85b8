import type { FilterWords } from "millrace/model";

/** Where a filter can't be read, and why. */
export interface FilterFault {
  readonly reason: string;
  readonly offset: number;
  readonly length: number;
}

/** @throws TypeError the server answered something else. */
export function parseFilterWords(
  value: unknown,
): Readonly<Record<"runs" | "examples", FilterWords>> {
  const { runs, examples } = value as Readonly<Record<string, FilterWords | undefined>>;
  if (runs === undefined || examples === undefined) {
    throw new TypeError("the server's answer holds no words of filters");
  }
  return { runs, examples };
}

/** `undefined` where the filter has none. */
export function parseFilterFault(value: unknown): FilterFault | undefined {
  const { fault } = value as { readonly fault?: Partial<FilterFault> | null };
  return typeof fault?.reason === "string"
    ? { reason: fault.reason, offset: fault.offset ?? 0, length: fault.length ?? 1 }
    : undefined;
}
