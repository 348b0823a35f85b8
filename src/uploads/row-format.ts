import { field } from "../model/records/tape-format.ts";

/**
 * The field codes of a row on a tape, which is a buffer of encoded rows. They reuse the codes of recorded runs, so that
 * one reader handles both.
 */
export const rowField = {
  /** Raw text; absent if the id is computed from the row's content. */
  id: field.id,
  /** The row's number in the source, from 1. */
  row: field.endMicros,
  inputs: field.inputs,
  outputs: field.outputs,
  metadata: field.metadata,
  split: field.tags,
  createdAt: field.startTime,
  sourceRunId: field.parentRunId,
  /** The complete request body, for feedback. */
  body: field.extra,
  /** An attachment: its name as a text, then an array with its MIME type and its bytes. */
  attachment: field.other,
} as const;
