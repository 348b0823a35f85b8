import type { ExamplePreview } from "./example.ts";
import { toIso } from "../../http/wire-text.ts";

/** Serializes an example for lists in the UI, with only the beginnings of its payloads. */
export const toPreviewJson = (preview: ExamplePreview) => ({
  id: preview.id,
  created_at: toIso(preview.createdMicros),
  modified_at: toIso(preview.modifiedMicros),
  source_run_id: preview.sourceRunId,
  inputs: preview.inputs,
  outputs: preview.outputs,
  metadata: preview.metadata,
  splits: preview.splits,
  attachment_count: preview.attachmentCount,
});
