import Papa from "papaparse";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { Example } from "millrace";
import { escapeFormula } from "millrace/model";
import type { SchemaElement } from "hyparquet";
import type { Format } from "./open-rows.ts";
import { standardColumns } from "./mapping.ts";

type Cells = Readonly<Record<(typeof standardColumns)[number], unknown>>;

/**
 * Serializes examples in a format. The columns are the {@link standardColumns}, which an upload reads without a
 * mapping.
 */
export function writeRows(
  examples: AsyncIterable<Example>,
  format: Format,
): AsyncGenerator<string | Uint8Array> {
  const batches = groupIntoBatches(examples);
  switch (format) {
    case "csv":
      return toCsv(batches);
    case "jsonl":
      return toJsonLines(batches);
    case "parquet":
      return toParquet(batches);
  }
}

/** Maximum number of rows that are held in memory and serialized at once. */
const maxBatchRows = 1_000;
/** A batch is also serialized once its rows have this many characters of JSON. */
const maxBatchChars = 4_194_304;

interface Row {
  readonly cells: Cells;
  /** Inputs, outputs and metadata as JSON. */
  readonly json: readonly [inputs: string, outputs: string | null, metadata: string];
}

async function* groupIntoBatches(examples: AsyncIterable<Example>): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  let chars = 0;
  for await (const example of examples) {
    const row = toRow(example);
    chars += row.json.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    batch.push(row);
    if (batch.length >= maxBatchRows || chars >= maxBatchChars) {
      yield batch;
      batch = [];
      chars = 0;
    }
  }
  if (batch.length > 0) {
    yield batch;
  }
}

function toRow({ id, inputs, outputs, metadata, splits, createdAt }: Example): Row {
  return {
    cells: {
      inputs,
      outputs: outputs ?? null,
      metadata,
      split: toSplitCell(splits),
      id,
      created_at: createdAt,
    },
    json: [
      JSON.stringify(inputs),
      outputs === undefined ? null : JSON.stringify(outputs),
      JSON.stringify(metadata),
    ],
  };
}

async function* toJsonLines(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  for await (const rows of batches) {
    yield rows
      .map(({ cells: { id, split, created_at: createdAt }, json: [inputs, outputs, metadata] }) => {
        const lastFields = JSON.stringify({ split, created_at: createdAt });
        const outputsField = outputs === null ? "" : `"outputs":${outputs},`;
        return `{"id":${JSON.stringify(id)},"inputs":${inputs},${outputsField}"metadata":${metadata},${lastFields.slice(1)}\n`;
      })
      .join("");
  }
}

/**
 * Returns a single split as its name, and several as a list. A single name that begins with `[` is returned as a list
 * of one name, because an upload would parse the bare name as a list.
 */
const toSplitCell = (splits: readonly string[]): string | readonly string[] => {
  const [first = ""] = splits;
  return splits.length === 1 && !first.startsWith("[") ? first : splits;
};

const formatSplit = (split: unknown): string =>
  typeof split === "string" ? split : JSON.stringify(split);

async function* toCsv(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  yield `${Papa.unparse([[...standardColumns]])}\r\n`;
  for await (const rows of batches) {
    const cells = rows.map(({ cells: { split, id, created_at: createdAt }, json }) => [
      ...json.map((text) => text ?? ""),
      escapeFormula(formatSplit(split)),
      id,
      createdAt ?? "",
    ]);
    yield `${Papa.unparse(cells)}\r\n`;
  }
}

const createColumn = (name: string, type: "JSON" | "UTF8"): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: type,
  repetition_type: "OPTIONAL",
});

const schema: SchemaElement[] = [
  { name: "root", num_children: standardColumns.length },
  createColumn("inputs", "JSON"),
  createColumn("outputs", "JSON"),
  createColumn("metadata", "JSON"),
  createColumn("split", "UTF8"),
  createColumn("id", "UTF8"),
  createColumn("created_at", "UTF8"),
];

async function* toParquet(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<Uint8Array> {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({ writer, schema, statistics: false });
  const takeBytes = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  for await (const rows of batches) {
    const columnData = standardColumns.map((name) => ({
      name,
      data: rows.map(({ cells }) => (name === "split" ? formatSplit(cells.split) : cells[name])),
      offsetIndex: false,
    }));
    await parquet.write({ columnData, rowGroupSize: rows.length });
    yield takeBytes();
  }
  await parquet.finish();
  yield takeBytes();
}
