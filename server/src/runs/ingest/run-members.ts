/** Members of a run by name, each as JSON text. */
export type Members = ReadonlyMap<string, Buffer>;
/** Values of the members that are stored in columns. */
export type ColumnValues = Readonly<Record<string, unknown>>;

/**
 * Members that are stored in columns, and therefore not in the payload. `name` may be stored in both; see {@link
 * isPayloadMember}.
 */
export const columnNames = [
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
  "name",
] as const;
export const columnMembers: ReadonlySet<string> = new Set(columnNames);

/** Longer JSON of a run usually contains members without a column, so it is parsed member by member. */
const maxParsedBytes = 2_048;

/**
 * Parses all members of a run's JSON object with a single call, if each of them has a column and none must be stored as
 * it was received. This is the case for a run whose large fields are sent as parts of their own. In all other cases,
 * and if the text is not a JSON object, returns `undefined`. The caller must then parse the text member by member,
 * which also reports errors. The bytes must be UTF-8.
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
  return Object.keys(values).every((name) => columnMembers.has(name))
    ? (values as ColumnValues)
    : undefined;
}

const backslash = 0x5c;

/**
 * Whether a member is stored in the payload. A run name with escapes is stored both in the column and in the payload,
 * because it may contain characters that a column can't store, such as NUL.
 */
export const isPayloadMember = (name: string, raw: Buffer): boolean =>
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
