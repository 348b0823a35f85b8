import { createHash } from "node:crypto";
import { maxSharedRanges } from "../runs/shared-texts/shared-ranges.ts";
import type { SharedRange } from "../runs/shared-texts/shared-ranges.ts";

/** A value that both engines store alike. */
export type PortableValue = string | number | Uint8Array | null;

export interface PortablePayload {
  readonly digest: string;
  readonly body: Buffer;
  /** The ranges of `body` whose texts other payloads may contain, too, in ascending order. */
  readonly shared: readonly SharedRange[];
}

/** A row in the form that both engines have in common: the values of the columns of its table, in their order. */
export interface PortableRow {
  readonly values: readonly PortableValue[];
  /** The payloads of a run, in the order in which they arrived. */
  readonly payloads?: readonly PortablePayload[];
}

/**
 * Returns a row as a line of JSON. Equal rows have equal lines, whichever database they are from, and however it stores
 * their payloads.
 */
export const encodeRow = (row: PortableRow): string =>
  encodeCells(row, ({ digest, body }) => [digest, body.toString("utf8")]);

/**
 * Returns a row as a line of a backup file. This is the line of {@link encodeRow}, but each payload with shared texts
 * also lists their ranges. Earlier versions can read such a line, too; they store the payload as a whole.
 */
export const encodeFileRow = (row: PortableRow): string =>
  encodeCells(row, ({ digest, body, shared }) => [
    digest,
    body.toString("utf8"),
    ...(shared.length === 0 ? [] : [shared.map(({ kind, start, end }) => [kind, start, end])]),
  ]);

/**
 * Whether a payload of the row shares texts, so that {@link encodeRow} and {@link encodeFileRow} differ for this row.
 */
export const hasSharedTexts = ({ payloads = [] }: PortableRow): boolean =>
  payloads.some(({ shared }) => shared.length > 0);

function encodeCells(
  { values, payloads }: PortableRow,
  encodePayload: (payload: PortablePayload) => readonly unknown[],
): string {
  const cells: unknown[] = values.map(encodeValue);
  if (payloads !== undefined) {
    cells.push(payloads.map(encodePayload));
  }
  return JSON.stringify(cells);
}

const encodeValue = (value: PortableValue): unknown => {
  if (typeof value === "number") {
    return Number.isFinite(value) ? value : { n: String(value) };
  }
  return value instanceof Uint8Array ? { b: Buffer.from(value).toString("base64") } : value;
};

/** @throws Error the line is not a row with this number of values. */
export function decodeRow(line: string, columnCount: number): PortableRow {
  const cells: unknown = JSON.parse(line);
  if (!Array.isArray(cells) || cells.length < columnCount || cells.length > columnCount + 1) {
    throw new Error(`a row does not have ${columnCount} values`);
  }
  const values = cells.slice(0, columnCount).map(decodeValue);
  const payloads: unknown = cells[columnCount];
  return payloads === undefined ? { values } : { values, payloads: decodePayloads(payloads) };
}

function decodeValue(cell: unknown): PortableValue {
  if (cell === null || typeof cell === "string" || typeof cell === "number") {
    return cell;
  }
  const { b: bytes, n: number } = cell as { readonly b?: unknown; readonly n?: unknown };
  if (typeof bytes === "string") {
    return Buffer.from(bytes, "base64");
  }
  if (typeof number === "string") {
    return Number(number);
  }
  throw new Error("a value is neither text, number nor bytes");
}

function decodePayloads(cell: unknown): readonly PortablePayload[] {
  if (!Array.isArray(cell)) {
    throw new TypeError("the payloads of a run are not a list");
  }
  return cell.map((payload: unknown) => {
    const [digest, text, shared = []] = Array.isArray(payload)
      ? (payload as readonly unknown[])
      : [];
    if (typeof digest !== "string" || typeof text !== "string") {
      throw new TypeError("a payload does not begin with a digest and a text");
    }
    const body = Buffer.from(text);
    return { digest, body, shared: decodeSharedRanges(shared, body) };
  });
}

function decodeSharedRanges(cell: unknown, body: Buffer): readonly SharedRange[] {
  if (!Array.isArray(cell) || cell.length > maxSharedRanges) {
    throw new Error(`the shared texts of a payload are not a list of at most ${maxSharedRanges}`);
  }
  let position = 0;
  return cell.map((range: unknown) => {
    const [kind, start, end] = Array.isArray(range) ? (range as readonly unknown[]) : [];
    if ((kind !== "list" && kind !== "text") || !isPosition(start) || !isPosition(end)) {
      throw new TypeError("a shared text of a payload is not a kind and two positions");
    }
    if (start < position || end <= start || end > body.length) {
      throw new RangeError(
        "the shared texts of a payload are not within the payload, or not in their order",
      );
    }
    if (isWithinCharacter(body, start) || isWithinCharacter(body, end)) {
      throw new RangeError("a shared text of a payload begins or ends within a character");
    }
    position = end;
    return { kind, start, end };
  });
}

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value);

const isWithinCharacter = (body: Buffer, at: number): boolean => ((body[at] ?? 0) & 0xc0) === 0x80;

const digestBits = 256n;

/**
 * Counts rows, and adds up the SHA-256 hashes of their lines. The order of the rows makes no difference, so databases
 * that return them in different orders can be compared.
 */
export class RowTally {
  #count = 0;
  #sum = 0n;

  add(line: string): void {
    this.#count += 1;
    this.#addToSum(BigInt(`0x${createHash("sha256").update(line).digest("hex")}`));
  }

  /** Adds the rows of another tally. */
  merge(other: RowTally): void {
    this.#count += other.#count;
    this.#addToSum(other.#sum);
  }

  #addToSum(added: bigint): void {
    this.#sum = BigInt.asUintN(Number(digestBits), this.#sum + added);
  }

  get count(): number {
    return this.#count;
  }

  get digest(): string {
    return this.#sum.toString(16).padStart(Number(digestBits) / 4, "0");
  }
}
