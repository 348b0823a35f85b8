// Measures one upload in a separate process. upload.bench.ts starts it and receives an UploadCost from it.
import { readPeakRssMb } from "./process-figures.ts";

export type UploadMethod = "millrace" | "createExamples" | "uploadCsv";

export interface UploadRequest {
  readonly method: UploadMethod;
  readonly rows: number;
  readonly endpoint: string;
}

export interface UploadCost {
  readonly seconds: number;
  /** CPU time per row, of all threads of the process. */
  readonly cpuMicros: number;
  readonly peakMb: number;
  readonly stages: readonly UploadStage[];
}

/** Figures after each tenth of an upload. They show whether the upload becomes slower or takes more memory. */
export interface UploadStage {
  /** Totals at the end of this tenth. */
  readonly rows: number;
  readonly seconds: number;
  /** Resident memory at the end of this tenth. */
  readonly nowMb: number;
}

const words =
  "order refund parcel delay invoice address customer account please thank question answer".split(
    " ",
  );

/** Generated beforehand, so that only the upload is measured and not the generation of texts. */
const texts = Array.from({ length: 997 }, (_, n) =>
  Array.from({ length: 60 }, (__, index) => words[(n * 7 + index * index) % words.length]).join(
    " ",
  ),
);
const getText = (n: number): string => texts[n % texts.length] ?? "";

/** A row of about 1 kB of JSON that differs for each number. */
const createRow = (n: number) => ({
  inputs: { number: n, question: getText(n) },
  outputs: { answer: getText(n * 31 + 1) },
  metadata: { source: `page-${n % 1_000}`, index: n },
});

const stages: UploadStage[] = [];

function* createRows(count: number): Generator<ReturnType<typeof createRow>> {
  const startedAt = performance.now();
  const step = Math.ceil(count / 10);
  for (let n = 1; n <= count; n++) {
    yield createRow(n - 1);
    if (n % step === 0) {
      const seconds = (performance.now() - startedAt) / 1_000;
      stages.push({ rows: n, seconds, nowMb: process.memoryUsage.rss() / 2 ** 20 });
      if (count >= progressFrom) {
        console.error(`${n.toLocaleString("en-US")} rows in ${seconds.toFixed(1)} s`);
      }
    }
  }
}

/** Progress is printed for uploads of at least this many rows. */
const progressFrom = 100_000;

const datasetName = "bench";
const rowsPerCall = 1_000;

/** The upload methods. Each imports only the client that it uses, as a program would. */
const methods: Readonly<Record<UploadMethod, (request: UploadRequest) => Promise<unknown>>> = {
  async millrace({ endpoint, rows }) {
    const { Client } = await import("millrace");
    const client = new Client({ endpoint });
    await client.examples.upload(createRows(rows), { datasetName, createDataset: true });
    await client.close();
  },
  async createExamples({ endpoint, rows }) {
    const { Client } = await import("langsmith");
    const client = new Client({ apiUrl: endpoint, apiKey: "none" });
    const { id } = await client.createDataset(datasetName);
    for (let start = 0; start < rows; start += rowsPerCall) {
      const chunk = Array.from({ length: Math.min(rowsPerCall, rows - start) }, (_, index) =>
        createRow(start + index),
      );
      await client.createExamples(chunk.map((row) => ({ ...row, dataset_id: id })));
    }
  },
  async uploadCsv({ endpoint, rows }) {
    const { Client } = await import("langsmith");
    const client = new Client({ apiUrl: endpoint, apiKey: "none" });
    const lines = ["number,question,answer"];
    for (const { inputs, outputs } of createRows(rows)) {
      lines.push(`${inputs.number},${inputs.question},${outputs.answer}`);
    }
    await client.uploadCsv({
      csvFile: new Blob([`${lines.join("\n")}\n`]),
      fileName: "rows.csv",
      inputKeys: ["number", "question"],
      outputKeys: ["answer"],
      name: datasetName,
    });
  },
};

process.once("message", (request: UploadRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: UploadRequest): Promise<void> {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await methods[request.method](request);
  const { user, system } = process.cpuUsage(cpuBefore);
  process.send?.({
    seconds: (performance.now() - startedAt) / 1_000,
    cpuMicros: (user + system) / request.rows,
    peakMb: readPeakRssMb(),
    stages,
  } satisfies UploadCost);
  process.disconnect();
}
