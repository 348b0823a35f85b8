// Uploads a corpus to a dataset for the question "Which licence does this paragraph come from?". See README.md in this
// folder.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Client } from "millrace";
import { paragraphs } from "./paragraphs.ts";
import type { Paragraph } from "./paragraphs.ts";

const [dataset = "licence paragraphs", checkpoint = "licences.checkpoint.json"] =
  process.argv.slice(2);

const client = new Client();
const uploadStream = client.examples.uploadStream<Paragraph>({
  datasetName: dataset,
  createDataset: {
    description: "Paragraphs of the licences in the SPDX list, each with the name of its licence.",
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
await pipeline(Readable.from(paragraphs()), uploadStream);
const { read, created, skipped, rejected, seconds } = await uploadStream.result;
console.log(
  `${read} paragraphs: ${created} created, ${skipped} skipped, ${rejected} rejected, in ${seconds.toFixed(1)} s`,
);
await client.close();
