/**
 * What the walk through a batch in WebAssembly (`wasm/walk`) and its reader ({@link BatchWalk}) both know: it is compiled
 * into the module. Tables are of words of four bytes.
 */

/** Members of a run that are known by a code: first those that columns hold. */
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

/** Codes below are of columns. */
export const columnCodes = 11;
/** The code of all other names. */
export const memberCodes = 19;

/** What stands in a list: a post of which nothing is left to check, any other run, or what is no object. */
export const kind = { ordinary: 0, unusual: 1, other: 2 } as const;

/** Where an entry has what. Places in the body are counted from its begin. */
export const field = {
  kind: 0,
  from: 1,
  /** Its first in the table of members, and how many it has. */
  members: 2,
  memberCount: 3,
  /** The members that no column holds; both 0 where there are none. */
  keptFrom: 4,
  keptTo: 5,
  // Of an ordinary post alone. Texts are rows of their table; -1: it has none.
  hasError: 6,
  id: 7,
  traceId: 8,
  parent: 9,
  /** Among the packed texts. */
  dottedFrom: 10,
  dottedSize: 11,
  name: 12,
  runType: 13,
  project: 14,
  /** The entry with the same tags and extra. */
  source: 15,
  /** Whether something may be counted of it. */
  hasMeasures: 16,
  tagsFrom: 17,
  tagsTo: 18,
  extraFrom: 19,
  extraTo: 20,
  /** Two words each. NaN: it has none. */
  startMicros: 22,
  endMicros: 24,
} as const;
export const entryWords = 26;

/** Where a member has what: its code, its name with the quotes, its value. */
export const memberField = { code: 0, nameAt: 1, nameEnd: 2, from: 3, to: 4 } as const;
export const memberWords = 5;

/** Where a text begins, its bytes, and where it is among the packed ones; -1 where it is not ASCII. */
export const textField = { at: 0, size: 1, packed: 2 } as const;
export const textWords = 3;

/** Rows that the tables have, and bytes of packed texts. A body with more goes the other way. */
export const limit = {
  entries: 2_048,
  members: 32_768,
  texts: 8_192,
  packedBytes: 1_048_576,
} as const;
