import { parseScalar } from "../../bodies/json-text.ts";

/** Members of a run by name, each as JSON text. */
export type Members = ReadonlyMap<string, Buffer>;
/** Values of members that have columns. */
export type ColumnValues = Readonly<Record<string, unknown>>;

/** Members that are stored in columns, and therefore not in the payload. */
const columnMembers: ReadonlySet<string> = new Set([
  "id",
  "trace_id",
  "dotted_order",
  "session_id",
  "session_name",
  "run_type",
  "start_time",
  "end_time",
  "parent_run_id",
  "reference_example_id",
]);

/** A longer main part contains more than column values, so it is not parsed at once. */
const maxParsedBytes = 2_048;

/**
 * Parses all members of a run's object at once, if each of them has a column and none has to be stored as received.
 * That is the case for the main part of a run whose large fields are parts of their own. Returns `undefined`
 * otherwise, also for text that is not a JSON object: the caller then parses it member by member, which reports the
 * error. The bytes must be UTF-8.
 */
export function readColumnValues(json: Buffer): ColumnValues | undefined {
  if (json.length > maxParsedBytes || json.includes(backslash)) {
    return undefined;
  }
  let values: unknown;
  try {
    values = JSON.parse(json.toString("utf8"));
  } catch {
    return undefined; // The caller parses it again, and reports the error with its position.
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    return undefined;
  }
  return Object.keys(values).every(hasColumn) ? (values as ColumnValues) : undefined;
}

const hasColumn = (name: string): boolean => name === "name" || columnMembers.has(name);

const backslash = 0x5c;

/**
 * A name with escapes is also stored as received, because it may contain characters that a column can't store, such
 * as NUL.
 */
const isPayloadMember = (name: string, raw: Buffer): boolean =>
  name === "name" ? raw.includes(backslash) : !columnMembers.has(name);

/** Selects the members that must be stored in the payload. */
export function selectPayload(members: Members): Members {
  const payload = new Map<string, Buffer>();
  for (const [name, raw] of members) {
    if (isPayloadMember(name, raw)) {
      payload.set(name, raw);
    }
  }
  return payload;
}

/** The cached value of a column's member, and the position of its text. */
interface CachedValue {
  readonly from: number;
  readonly length: number;
  readonly value: unknown;
}

/** Longer values are not cached. */
const maxCachedBytes = 64;

/** Text that contains the runs of a request, with a cache of its column values. */
export class RunSource {
  readonly bytes: Buffer;
  /** By member name: the runs of a request share most of their types, projects and traces. */
  readonly #cache = new Map<string, CachedValue>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Returns the value of a member that has a column. */
  valueAt(name: string, from: number, to: number): unknown {
    const cached = this.#cache.get(name);
    if (cached !== undefined && this.#hasSameText(cached, from, to)) {
      return cached.value;
    }
    const value = parseScalar(this.bytes.subarray(from, to));
    if (to - from <= maxCachedBytes) {
      this.#cache.set(name, { from, length: to - from, value });
    }
    return value;
  }

  #hasSameText({ from, length }: CachedValue, start: number, end: number): boolean {
    const { bytes } = this;
    let index = end - start === length ? 0 : length + 1;
    while (index < length && bytes[from + index] === bytes[start + index]) {
      index += 1;
    }
    return index === length;
  }
}

/** Position of a member in the text. */
interface MemberPosition {
  readonly nameAt: number;
  /** Range of the member's value. */
  readonly from: number;
  readonly to: number;
}

/** A run whose members are added one by one, and separated into values for columns and JSON for the payload. */
export class SplitRun {
  readonly values: Record<string, unknown> = {};
  readonly members = new Map<string, Buffer>();
  readonly #source: RunSource;
  #index = 0;
  #lastPayloadIndex = 0;
  #payloadFrom = 0;
  #payloadTo = 0;
  #payloadCount = 0;
  #isContiguous = true;

  constructor(source: RunSource) {
    this.#source = source;
  }

  /** JSON of the payload's members without the braces, if they are adjacent and no name occurs twice. */
  get rawMembers(): Buffer | undefined {
    return this.#isContiguous && this.#payloadCount > 0
      ? this.#source.bytes.subarray(this.#payloadFrom, this.#payloadTo)
      : undefined;
  }

  /** Adds the next member. A later member replaces an earlier one of the same name. */
  add(name: string, { nameAt, from, to }: MemberPosition): void {
    this.#index += 1;
    if (!hasColumn(name)) {
      this.#addToPayload(name, { nameAt, from, to });
      return;
    }
    if (name === "name") {
      const wasInPayload = this.members.delete(name);
      this.#isContiguous &&= !wasInPayload;
      if (isPayloadMember(name, this.#source.bytes.subarray(from, to))) {
        this.#addToPayload(name, { nameAt, from, to });
      }
    }
    this.values[name] = this.#source.valueAt(name, from, to);
  }

  #addToPayload(name: string, { nameAt, from, to }: MemberPosition): void {
    if (this.#payloadCount === 0) {
      this.#payloadFrom = nameAt;
    } else if (this.#index !== this.#lastPayloadIndex + 1) {
      this.#isContiguous = false;
    }
    this.#lastPayloadIndex = this.#index;
    this.#payloadTo = to;
    this.#payloadCount += 1;
    this.members.set(name, this.#source.bytes.subarray(from, to));
    this.#isContiguous &&= this.members.size === this.#payloadCount;
  }
}
