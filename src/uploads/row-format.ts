import { field } from "../model/records/tape-format.ts";

/** The fields of a row on a tape: those of a run's record, each for what is nearest to it. */
export const rowField = {
  /** Raw text; absent where the content is to say it. */
  id: field.id,
  /** Its number in the source, from 1. */
  row: field.endMicros,
  inputs: field.inputs,
  outputs: field.outputs,
  metadata: field.metadata,
  split: field.tags,
  createdAt: field.startTime,
  sourceRunId: field.parentRunId,
  /** A whole body, of nouns that have no payloads of their own. */
  body: field.extra,
  /** A text, the name; then a list of the MIME type and the bytes. */
  attachment: field.other,
} as const;
