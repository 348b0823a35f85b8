import { parseScalar } from "../../bodies/json-text.ts";

/** Members of a run by their names, as JSON texts. */
export type Members = ReadonlyMap<string, Buffer>;
/** Values of members that columns hold. */
export type ColumnValues = Readonly<Record<string, unknown>>;

/** Members that the columns hold already. */
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

/** A longer text holds more than columns. */
const valuesBytesMax = 2_048;

/**
 * All members of a run's object at once, where each has a column and nothing has to be stored as it was received. That is true of
 * the main part of a run whose large fields have parts of their own. Returns `undefined` otherwise, also for a text that is not a JSON
 * object; the caller then walks through it, which finds the fault. The bytes are UTF-8.
 */
export function readColumnValues(json: Buffer): ColumnValues | undefined {
  if (json.length > valuesBytesMax || json.includes(backslash)) {
    return undefined;
  }
  let values: unknown;
  try {
    values = JSON.parse(json.toString("utf8"));
  } catch {
    return undefined; // Whoever walks through it finds the fault and its place.
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    return undefined;
  }
  return Object.keys(values).every(hasColumn) ? (values as ColumnValues) : undefined;
}

const hasColumn = (name: string): boolean => name === "name" || columnMembers.has(name);

const backslash = 0x5c;

/** A name with escapes is kept as it came: a column may not hold what they stand for. */
const isKept = (name: string, raw: Buffer): boolean =>
  name === "name" ? raw.includes(backslash) : !columnMembers.has(name);

/** Of all members those that no column holds. */
export function payloadOf(members: Members): Members {
  const payload = new Map<string, Buffer>();
  for (const [name, raw] of members) {
    if (isKept(name, raw)) {
      payload.set(name, raw);
    }
  }
  return payload;
}

/** A column's value, and where its text stood. */
interface KnownValue {
  readonly from: number;
  readonly length: number;
  readonly value: unknown;
}

/** Longer texts are read each time. */
const knownBytesMax = 64;

/** What the runs of one text are read from. */
export class RunSource {
  readonly bytes: Buffer;
  /** By name: the runs of a request share most of their types, projects and traces. */
  readonly #known = new Map<string, KnownValue>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The value of a column's member. */
  valueAt(name: string, from: number, to: number): unknown {
    const known = this.#known.get(name);
    if (known !== undefined && this.#isSame(known, from, to)) {
      return known.value;
    }
    const value = parseScalar(this.bytes.subarray(from, to));
    if (to - from <= knownBytesMax) {
      this.#known.set(name, { from, length: to - from, value });
    }
    return value;
  }

  #isSame({ from, length }: KnownValue, start: number, end: number): boolean {
    const { bytes } = this;
    let index = end - start === length ? 0 : length + 1;
    while (index < length && bytes[from + index] === bytes[start + index]) {
      index += 1;
    }
    return index === length;
  }
}

/** Where a member stands. */
interface MemberPosition {
  readonly nameAt: number;
  /** Its value. */
  readonly from: number;
  readonly to: number;
}

/** A run whose members are found one by one: values for columns, and what is kept as it came. */
export class SplitRun {
  readonly values: Record<string, unknown> = {};
  readonly members = new Map<string, Buffer>();
  readonly #source: RunSource;
  #index = 0;
  #keptIndex = 0;
  #keptFrom = 0;
  #keptTo = 0;
  #count = 0;
  #isSideBySide = true;

  constructor(source: RunSource) {
    this.#source = source;
  }

  /** The members that are kept, where nothing stands between them. */
  get kept(): Buffer | undefined {
    return this.#isSideBySide && this.#count > 0
      ? this.#source.bytes.subarray(this.#keptFrom, this.#keptTo)
      : undefined;
  }

  /** The next member. Of equal names the last one counts. */
  put(name: string, { nameAt, from, to }: MemberPosition): void {
    this.#index += 1;
    if (!hasColumn(name)) {
      this.#keep(name, { nameAt, from, to });
      return;
    }
    if (name === "name") {
      const wasKept = this.members.delete(name);
      this.#isSideBySide &&= !wasKept;
      if (isKept(name, this.#source.bytes.subarray(from, to))) {
        this.#keep(name, { nameAt, from, to });
      }
    }
    this.values[name] = this.#source.valueAt(name, from, to);
  }

  #keep(name: string, { nameAt, from, to }: MemberPosition): void {
    if (this.#count === 0) {
      this.#keptFrom = nameAt;
    } else if (this.#index !== this.#keptIndex + 1) {
      this.#isSideBySide = false;
    }
    this.#keptIndex = this.#index;
    this.#keptTo = to;
    this.#count += 1;
    this.members.set(name, this.#source.bytes.subarray(from, to));
    this.#isSideBySide &&= this.members.size === this.#count;
  }
}
