// One way of uploading, in one process: started by upload.bench.ts, answers with an UploadCost.
import { peakRssMb } from "./process-figures.ts";

/** What is measured. */
export type Way = "millrace" | "createExamples" | "uploadCsv";

export interface UploadOrder {
  readonly way: Way;
  readonly rows: number;
  readonly endpoint: string;
}

export interface UploadCost {
  readonly seconds: number;
  /** Of a row: all threads of the process. */
  readonly cpuMicros: number;
  readonly peakMb: number;
  readonly stages: readonly UploadStage[];
}

/** A tenth of an upload: whether it becomes slower, or larger, shows in the last ones. */
export interface UploadStage {
  /** At its end, from the beginning on. */
  readonly rows: number;
  readonly seconds: number;
  /** Resident at its end. */
  readonly nowMb: number;
}

const words =
  "order refund parcel delay invoice address customer account please thank question answer".split(
    " ",
  );

/** Made beforehand: what is measured is the upload, not the making of rows. */
const texts = Array.from({ length: 997 }, (_, n) =>
  Array.from({ length: 60 }, (__, at) => words[(n * 7 + at * at) % words.length]).join(" "),
);
const textAt = (n: number): string => texts[n % texts.length] ?? "";

/** About 1 kB of JSON, another for each number. */
const rowOf = (n: number) => ({
  inputs: { number: n, question: textAt(n) },
  outputs: { answer: textAt(n * 31 + 1) },
  metadata: { source: `page-${n % 1_000}`, index: n },
});

const stages: UploadStage[] = [];

function* rowsTo(many: number): Generator<ReturnType<typeof rowOf>> {
  const began = performance.now();
  const step = Math.ceil(many / 10);
  for (let n = 1; n <= many; n++) {
    yield rowOf(n - 1);
    if (n % step === 0) {
      const seconds = (performance.now() - began) / 1_000;
      stages.push({ rows: n, seconds, nowMb: process.memoryUsage.rss() / 2 ** 20 });
      if (many >= told) {
        console.error(`${n.toLocaleString("en-US")} rows in ${seconds.toFixed(1)} s`);
      }
    }
  }
}

/** From so many rows on, who waits is told how far it is. */
const told = 100_000;

const dataset = "bench";
const perCall = 1_000;

/** Each loads only what it uses, as a program would. */
const ways: Readonly<Record<Way, (order: UploadOrder) => Promise<unknown>>> = {
  async millrace({ endpoint, rows }) {
    const { Client } = await import("millrace");
    const client = new Client({ endpoint });
    await client.examples.upload(rowsTo(rows), { datasetName: dataset, createDataset: true });
    await client.close();
  },
  async createExamples({ endpoint, rows }) {
    const { Client } = await import("langsmith");
    const client = new Client({ apiUrl: endpoint, apiKey: "none" });
    const { id } = await client.createDataset(dataset);
    for (let from = 0; from < rows; from += perCall) {
      const some = Array.from({ length: Math.min(perCall, rows - from) }, (_, at) =>
        rowOf(from + at),
      );
      await client.createExamples(some.map((row) => ({ ...row, dataset_id: id })));
    }
  },
  async uploadCsv({ endpoint, rows }) {
    const { Client } = await import("langsmith");
    const client = new Client({ apiUrl: endpoint, apiKey: "none" });
    const lines = ["number,question,answer"];
    for (const { inputs, outputs } of rowsTo(rows)) {
      lines.push(`${inputs.number},${inputs.question},${outputs.answer}`);
    }
    await client.uploadCsv({
      csvFile: new Blob([`${lines.join("\n")}\n`]),
      fileName: "rows.csv",
      inputKeys: ["number", "question"],
      outputKeys: ["answer"],
      name: dataset,
    });
  },
};

process.once("message", (order: UploadOrder) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer(order: UploadOrder): Promise<void> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await ways[order.way](order);
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({
    seconds: (performance.now() - began) / 1_000,
    cpuMicros: (user + system) / order.rows,
    peakMb: peakRssMb(),
    stages,
  } satisfies UploadCost);
  process.disconnect();
}
