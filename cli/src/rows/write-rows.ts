import Papa from "papaparse";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { Example } from "millrace";
import { escapeFormula } from "millrace/model";
import type { SchemaElement } from "hyparquet";
import type { Format } from "./open-rows.ts";
import { ownColumns } from "./mapping.ts";

type Cells = Readonly<Record<(typeof ownColumns)[number], unknown>>;

/** The examples in a format, part after part; what {@link ownColumns} names is what an upload takes again. */
export function writeRows(
  examples: AsyncIterable<Example>,
  format: Format,
): AsyncGenerator<string | Uint8Array> {
  const batches = batchesOf(examples);
  switch (format) {
    case "csv":
      return toCsv(batches);
    case "jsonl":
      return toJsonLines(batches);
    case "parquet":
      return toParquet(batches);
  }
}

/** So much is in memory at once: rows, or characters of them. */
const batchRows = 1_000;
const batchChars = 4_194_304;

interface Row {
  readonly cells: Cells;
  /** Its inputs, outputs and metadata as JSON. */
  readonly json: readonly [inputs: string, outputs: string | null, metadata: string];
}

async function* batchesOf(examples: AsyncIterable<Example>): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  let chars = 0;
  for await (const example of examples) {
    const row = toRow(example);
    chars += row.json.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    batch.push(row);
    if (batch.length >= batchRows || chars >= batchChars) {
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
      split: splits.length === 1 ? splits[0] : splits,
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
        const rest = JSON.stringify({ split, created_at: createdAt });
        const said = outputs === null ? "" : `"outputs":${outputs},`;
        return `{"id":${JSON.stringify(id)},"inputs":${inputs},${said}"metadata":${metadata},${rest.slice(1)}\n`;
      })
      .join("");
  }
}

/** A name alone may look like a list. */
const splitText = (split: unknown): string =>
  typeof split === "string" && !split.startsWith("[") ? split : JSON.stringify([split].flat());

async function* toCsv(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  yield `${Papa.unparse([[...ownColumns]])}\r\n`;
  for await (const rows of batches) {
    const cells = rows.map(({ cells: { split, id, created_at: createdAt }, json }) => [
      ...json.map((text) => text ?? ""),
      escapeFormula(splitText(split)),
      id,
      createdAt ?? "",
    ]);
    yield `${Papa.unparse(cells)}\r\n`;
  }
}

const column = (name: string, type: "JSON" | "UTF8"): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: type,
  repetition_type: "OPTIONAL",
});

const schema: SchemaElement[] = [
  { name: "root", num_children: ownColumns.length },
  column("inputs", "JSON"),
  column("outputs", "JSON"),
  column("metadata", "JSON"),
  column("split", "UTF8"),
  column("id", "UTF8"),
  column("created_at", "UTF8"),
];

async function* toParquet(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<Uint8Array> {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({ writer, schema, statistics: false });
  const take = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  for await (const rows of batches) {
    const columnData = ownColumns.map((name) => ({
      name,
      data: rows.map(({ cells }) => (name === "split" ? splitText(cells.split) : cells[name])),
      offsetIndex: false,
    }));
    await parquet.write({ columnData, rowGroupSize: rows.length });
    yield take();
  }
  await parquet.finish();
  yield take();
}
