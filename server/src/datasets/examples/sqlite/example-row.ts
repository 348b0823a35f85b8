import type { Attachment, Example } from "../example.ts";

/** The columns of a row `e` of examples and its dataset `d`, in the order of {@link parseExampleRow}. */
const exampleColumns =
  "e.id, e.dataset_id, d.name_json, e.created_us, e.from_us, e.source_run_id, e.inputs, e.outputs, e.metadata, e.attachments, e.position";

/** Selects examples of complete datasets (not those being uploaded or deleted). */
export const exampleSelection = `SELECT ${exampleColumns} FROM examples e JOIN datasets d ON d.id = e.dataset_id AND d.is_ready = 1`;

export function parseExampleRow(values: readonly unknown[]): Example {
  const [id, datasetId, name, created, from, sourceRunId, inputs, outputs, metadata, ...others] =
    values;
  const [files, position] = others;
  return {
    id: String(id),
    datasetId: String(datasetId),
    datasetName: String(JSON.parse(String(name))),
    createdMicros: Number(created),
    modifiedMicros: Number(from),
    sourceRunId: typeof sourceRunId === "string" ? sourceRunId : null,
    inputs: String(inputs),
    outputs: typeof outputs === "string" ? outputs : null,
    metadata: String(metadata),
    attachments: typeof files === "string" ? (JSON.parse(files) as readonly Attachment[]) : [],
    position: Number(position),
  };
}
