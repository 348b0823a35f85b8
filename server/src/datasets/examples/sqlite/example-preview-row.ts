import { splitsOf } from "../splits.ts";
import type { ExamplePreview, TextPreview } from "../example.ts";
import { splitsSql } from "./example-conditions.ts";

const begin = (column: string): string => `substr(${column}, 1, ?), length(${column})`;

/**
 * The query has three parameters, the maximum characters of each payload; columns are in the order of {@link
 * parsePreviewRow}.
 */
export const previewSelection = `SELECT e.id, e.created_us, e.from_us, e.source_run_id,
  ${begin("e.inputs")}, ${begin("e.outputs")}, ${begin("e.metadata")}, ${splitsSql},
  coalesce(json_array_length(e.attachments), 0)
  FROM examples e JOIN datasets d ON d.id = e.dataset_id AND d.is_ready = 1`;

export function parsePreviewRow(values: readonly unknown[]): ExamplePreview {
  const [id, created, from, sourceRunId, ...payloads] = values;
  const [inputs, inputChars, outputs, outputChars, metadata, metadataChars, splits, files] =
    payloads;
  return {
    id: String(id),
    createdMicros: Number(created),
    modifiedMicros: Number(from),
    sourceRunId: typeof sourceRunId === "string" ? sourceRunId : null,
    inputs: toPreview(inputs, inputChars),
    outputs: typeof outputs === "string" ? toPreview(outputs, outputChars) : null,
    metadata: toPreview(metadata, metadataChars),
    splits: typeof splits === "string" ? splitsOf(`{"dataset_split":${splits}}`) : [],
    attachmentCount: Number(files),
  };
}

const toPreview = (text: unknown, chars: unknown): TextPreview => ({
  text: String(text),
  chars: Number(chars),
});
