import { isObject, toNumber, toObject } from "./json-values.ts";

/** The kinds of rows that are counted. */
export const rowKinds = [
  "projects",
  "runs",
  "attachments",
  "datasets",
  "examples",
  "feedback",
  "prompts",
  "commits",
] as const;

/** One of {@link rowKinds}. */
export type RowKind = (typeof rowKinds)[number];

/** The outcomes of the rows of one kind. */
export interface KindCounts {
  readonly imported: number;
  /** Rows that the server had already. */
  readonly existing: number;
  readonly leftOut: number;
}

/** Rows that were left out for the same reason. */
export interface LeftOut {
  readonly count: number;
  /** One of the rows: an id or a name. */
  readonly example?: string;
}

/** Maximum number of different reasons that are kept for one kind. */
const maxReasons = 20;
/** Maximum length of a reason in characters. Longer reasons are truncated. */
export const maxReasonLength = 300;
const otherReasons = "other reasons";

/** Counts rows by kind and outcome, with the reasons why rows were left out. */
export class Tally {
  readonly #counts = new Map<RowKind, { imported: number; existing: number; leftOut: number }>();
  readonly #reasons = new Map<RowKind, Map<string, { count: number; example?: string }>>();

  add(kind: RowKind, outcome: "imported" | "existing", count = 1): void {
    if (count > 0) {
      this.#countsOf(kind)[outcome] += count;
    }
  }

  /** @param row - the id or the name of the row, with which the user can find it. */
  leaveOut(kind: RowKind, reason: string, row?: string): void {
    this.#leaveOut(kind, reason, { count: 1, ...(row === undefined ? {} : { example: row }) });
  }

  #leaveOut(kind: RowKind, reason: string, { count, example }: LeftOut): void {
    this.#countsOf(kind).leftOut += count;
    const reasons = this.#reasons.get(kind) ?? new Map<string, { count: number }>();
    this.#reasons.set(kind, reasons);
    const text = reason.slice(0, maxReasonLength);
    const key = reasons.has(text) || reasons.size < maxReasons ? text : otherReasons;
    const earlierRows = reasons.get(key);
    reasons.set(key, {
      ...(example === undefined ? {} : { example: example.slice(0, maxReasonLength) }),
      ...earlierRows,
      count: (earlierRows?.count ?? 0) + count,
    });
  }

  /** Number of rows of all kinds that were left out. */
  get leftOut(): number {
    return [...this.#counts.values()].reduce((sum, { leftOut }) => sum + leftOut, 0);
  }

  read(kind: RowKind): KindCounts {
    return this.#counts.get(kind) ?? { imported: 0, existing: 0, leftOut: 0 };
  }

  readReasons(kind: RowKind): ReadonlyMap<string, LeftOut> {
    return this.#reasons.get(kind) ?? new Map<string, LeftOut>();
  }

  toJSON(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      [...this.#counts].map(([kind, counts]) => [
        kind,
        { ...counts, reasons: Object.fromEntries(this.#reasons.get(kind) ?? []) },
      ]),
    );
  }

  /** Recreates a tally from the result of {@link Tally.toJSON}. */
  static parse(json: unknown): Tally {
    const tally = new Tally();
    for (const kind of rowKinds) {
      const stored = toObject(json)[kind];
      if (isObject(stored)) {
        tally.add(kind, "imported", toNumber(stored["imported"]) ?? 0);
        tally.add(kind, "existing", toNumber(stored["existing"]) ?? 0);
        for (const [reason, leftOut] of Object.entries(toObject(stored["reasons"]))) {
          const { count, example } = toObject(leftOut);
          tally.#leaveOut(kind, reason, {
            count: toNumber(count) ?? 0,
            ...(typeof example === "string" ? { example } : {}),
          });
        }
      }
    }
    return tally;
  }

  #countsOf(kind: RowKind): { imported: number; existing: number; leftOut: number } {
    const counts = this.#counts.get(kind) ?? { imported: 0, existing: 0, leftOut: 0 };
    this.#counts.set(kind, counts);
    return counts;
  }
}
