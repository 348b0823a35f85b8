/**
 * The memory layout of the tables that the WebAssembly indexer of batches (`wasm/walk`) writes and {@link BatchWalk}
 * reads. The constants are compiled into the module. Table rows consist of words of four bytes.
 */

/** Code of a name that has no code of its own: an unknown name, or one that contains escapes. */
export const unknownNameCode = 0x7fff_ffff;

/**
 * Word index of each field of a run: its first row in the table of members and the row after its last one; both are
 * {@link notAnObject} for a list item that is not an object.
 */
export const runField = { first: 0, end: 1 } as const;
export const wordsPerRun = 2;
export const notAnObject = 0x7fff_ffff;

/**
 * Word index of each field of a member: its code, the range of its name with the quotes, and the range of its value.
 * Positions are relative to the start of the body.
 */
export const memberField = {
  code: 0,
  nameStart: 1,
  nameEnd: 2,
  valueStart: 3,
  valueEnd: 4,
} as const;
export const wordsPerMember = 5;

/** Maximum number of rows of each table. A larger batch is indexed in TypeScript. */
export const rowLimits = { runs: 2_048, members: 32_768 } as const;
