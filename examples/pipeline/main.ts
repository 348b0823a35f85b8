// From a corpus to a dataset: which licence is this paragraph of? See README.md beside this file.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Client } from "millrace";
import { paragraphs } from "./paragraphs.ts";
import type { Paragraph } from "./paragraphs.ts";

const [dataset = "licence paragraphs", checkpoint = "licences.checkpoint.json"] =
  process.argv.slice(2);

const client = new Client();
const end = client.examples.uploadStream<Paragraph>({
  datasetName: dataset,
  createDataset: {
    description: "Paragraphs of the licences of the SPDX list, and whose they are.",
  },
  checkpoint: { path: checkpoint, source: "spdx-license-list 6.12.0" },
  idFrom: ({ licence, number }) => `${licence}#${number}`,
  toExample: ({ text, licence, title, number, isApproved }) => ({
    inputs: { text },
    outputs: { licence },
    metadata: { title, paragraph: number },
    split: isApproved ? "osi-approved" : "other",
  }),
  onRejected: ({ row, reason }) => console.error(`row ${row}: ${reason}`),
});
await pipeline(Readable.from(paragraphs()), end);
const { read, created, skipped, rejected, seconds } = await end.result;
console.log(
  `${read} paragraphs: ${created} created, ${skipped} skipped, ${rejected} rejected, in ${seconds.toFixed(1)} s`,
);
await client.close();
