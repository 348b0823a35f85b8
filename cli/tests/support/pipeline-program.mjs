// Uploads a Parquet file with pipeline(): node pipeline-program.mjs FILE DATASET CHECKPOINT
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { Client } from "millrace";

const [, , path, datasetName, checkpoint] = process.argv;

async function* rows() {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    yield* await parquetReadObjects({ file, metadata, rowStart, rowEnd });
    rowStart = rowEnd;
  }
}

const client = new Client();
const end = client.examples.uploadStream({
  datasetName,
  createDataset: true,
  checkpoint,
  chunkCount: 250,
  idFrom: { key: "n" },
  toExample: ({ n, text }) => ({ inputs: { n, text } }),
});
await pipeline(Readable.from(rows()), end);
process.stdout.write(JSON.stringify(await end.result));
await client.close();
