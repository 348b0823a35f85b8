/**
 * Memory layout that the WebAssembly parser of batches (`wasm/walk`) shares with its reader ({@link BatchWalk}).
 * The constants are compiled into the module. Table rows consist of words of four bytes.
 */

/** Codes of the known members of a run. Members that have columns come first. */
export const member = {
  id: 0,
  trace_id: 1,
  dotted_order: 2,
  session_id: 3,
  session_name: 4,
  name: 5,
  run_type: 6,
  start_time: 7,
  end_time: 8,
  parent_run_id: 9,
  reference_example_id: 10,
  inputs: 11,
  outputs: 12,
  extra: 13,
  error: 14,
  tags: 15,
  events: 16,
  serialized: 17,
  attachments: 18,
} as const;

/** Codes below this one belong to members that have columns. */
export const columnCodes = 11;
/** Code of all other names. */
export const memberCodes = 19;

/**
 * Kinds of list items. `ordinary`: a post that needs no further checks. `unusual`: any other run. `other`: not an
 * object.
 */
export const kind = { ordinary: 0, unusual: 1, other: 2 } as const;

/** Word index of each field of an entry. Positions in the body are relative to its start. */
export const field = {
  kind: 0,
  from: 1,
  /** Index of its first row in the table of members, and its number of rows. */
  members: 2,
  memberCount: 3,
  /** Range of the members that have no column; both are 0 if there are none. */
  keptFrom: 4,
  keptTo: 5,
  // The following fields are set for ordinary posts only. Texts are row numbers in the table of texts; -1 means
  // absent.
  hasError: 6,
  id: 7,
  traceId: 8,
  parent: 9,
  /** Offset and size in the packed texts. */
  dottedFrom: 10,
  dottedSize: 11,
  name: 12,
  runType: 13,
  project: 14,
  /** First entry with the same tags and extra; facets are computed once for all of them. */
  source: 15,
  /** Whether the run may report usage or a first token. */
  hasMeasures: 16,
  tagsFrom: 17,
  tagsTo: 18,
  extraFrom: 19,
  extraTo: 20,
  /** 64-bit floats of two words each; NaN means absent. */
  startMicros: 22,
  endMicros: 24,
} as const;
export const entryWords = 26;

/**
 * Word index of each field of a member: its code, the range of its name with the quotes, and the range of its
 * value.
 */
export const memberField = { code: 0, nameAt: 1, nameEnd: 2, from: 3, to: 4 } as const;
export const memberWords = 5;

/**
 * Word index of each field of a text: offset in the body, size in bytes, and offset in the packed texts, which is
 * -1 if the text is not ASCII.
 */
export const textField = { at: 0, size: 1, packed: 2 } as const;
export const textWords = 3;

/**
 * Maximum number of rows of each table, and of bytes of packed texts. A larger batch is left to the TypeScript
 * parser.
 */
export const limit = {
  entries: 2_048,
  members: 32_768,
  texts: 8_192,
  packedBytes: 1_048_576,
} as const;
