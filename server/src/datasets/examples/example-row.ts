import type { Attachment, Example, ExamplePreview } from "./example.ts";
import type { ExampleRow, PreviewRow } from "./example-queries.ts";
import { readSplits } from "./splits.ts";

export const parseExampleRow = (row: ExampleRow): Example => ({
  id: row.id,
  datasetId: row.dataset_id,
  datasetName: String(JSON.parse(row.name_json)),
  createdMicros: row.created_us,
  modifiedMicros: row.from_us,
  sourceRunId: row.source_run_id,
  inputs: row.inputs,
  outputs: row.outputs,
  metadata: row.metadata,
  attachments: row.attachments === null ? [] : (JSON.parse(row.attachments) as Attachment[]),
  position: row.position,
});

/** Converts a row to an example with the beginnings of its payloads. */
export const parsePreviewRow = (row: PreviewRow): ExamplePreview => ({
  id: row.id,
  createdMicros: row.created_us,
  modifiedMicros: row.from_us,
  sourceRunId: row.source_run_id,
  inputs: { text: row.inputs, chars: row.input_chars },
  outputs: row.outputs === null ? null : { text: row.outputs, chars: row.output_chars ?? 0 },
  metadata: { text: row.metadata, chars: row.metadata_chars },
  splits: row.splits === null ? [] : parseSplitList(row.splits),
  attachmentCount: row.attachment_count,
});

/** Parses a JSON list of names of splits. */
export const parseSplitList = (json: string): readonly string[] =>
  readSplits(`{"dataset_split":${json}}`);
