// How many rows per second can be uploaded to a dataset of the local server, and what does that cost the uploading
// process?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "./processes.ts";
import { readCpuMicros, readPeakRssMb } from "./process-figures.ts";
import type { UploadCost, UploadRequest, UploadMethod } from "./upload-child.ts";
import { publish, formatNumber, table } from "./results.ts";

const numberFlag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
};

const rows = numberFlag("--rows", 1_000_000);
/** Number of rows for the comparison with other clients, which take minutes for it. */
const comparisonRows = 20_000;
const goal = { rate: 15_000, peakMb: 250 };
const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));

const formatCount = (value: number): string => value.toLocaleString("en-US");

const columns = [
  "",
  "rows",
  "rows/s",
  "uploader: CPU µs per row",
  "server: CPU µs per row",
  "uploader: peak MB",
  "server: peak MB",
];
const fineprint =
  "Server and uploader are separate processes on one machine. CPU is that of all threads of a process; the rate depends on the other load of the machine. Peak memory is that of the process, Node included.";

/** The figures of one upload, including those of the server. */
interface UploadMeasurement extends UploadCost {
  readonly rows: number;
  readonly serverMicros: number;
  readonly serverPeakMb: number;
}

const measure = async (
  name: string,
  request: Omit<UploadRequest, "endpoint">,
): Promise<UploadMeasurement> => {
  const result = await upload(request);
  console.error(`${name}: ${formatNumber(result.rows / result.seconds)} rows/s`);
  return result;
};

const methods: readonly (readonly [string, UploadMethod])[] = [
  ["millrace: `examples.upload`", "millrace"],
  ["langsmith: `createExamples`, 1,000 rows per call", "createExamples"],
  ["langsmith: `uploadCsv`", "uploadCsv"],
];
try {
  if (process.argv.includes("--beside")) {
    await publishComparison();
  } else {
    await publishSize();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Measures an upload and publishes it as a separate section for its number of rows. */
async function publishSize(): Promise<void> {
  const measurement = await measure("millrace", { method: "millrace", rows });
  const rate = measurement.rows / measurement.seconds;
  const verdict = rate >= goal.rate && measurement.peakMb <= goal.peakMb ? "met" : "missed";
  const tenths = measurement.stages.map(({ rows: done, seconds, nowMb }, index) => {
    const last = measurement.stages[index - 1] ?? { rows: 0, seconds: 0 };
    return [
      formatCount(done),
      formatNumber((done - last.rows) / (seconds - last.seconds)),
      formatNumber(nowMb),
    ];
  });
  publish({
    script: "upload",
    section: `upload-${rows}`,
    question: `How many rows of about 1 kB can be uploaded per second: ${formatCount(rows)} rows?`,
    body: `${table(columns, [["millrace: `examples.upload`", ...figureCells(measurement)]])}

Goal: ${formatCount(goal.rate)} rows/s on two cores, server included, and at most ${goal.peakMb} MB in the uploader, whatever the number of rows: ${verdict}. Each tenth of the upload:

${table(["rows done", "rows/s in this tenth", "uploader: resident MB"], tenths)}

${fineprint}`,
  });
}

async function publishComparison(): Promise<void> {
  const lines: string[][] = [];
  for (const [name, method] of methods) {
    const measurement = await measure(name, { method, rows: comparisonRows });
    lines.push([name, ...figureCells(measurement)]);
  }
  publish({
    script: "upload",
    question: `How many rows of about 1 kB can be uploaded per second, compared with langsmith's client: ${formatCount(comparisonRows)} rows?`,
    body: `${table(columns, lines)}

${fineprint} A CSV file has only inputs and outputs, no metadata and no ids. With so few rows the start of the process is a large part of the time.`,
  });
}

/** The cells of {@link columns} except the first. */
function figureCells(measurement: UploadMeasurement): string[] {
  return [
    formatCount(measurement.rows),
    formatNumber(measurement.rows / measurement.seconds),
    formatNumber(measurement.cpuMicros),
    formatNumber(measurement.serverMicros),
    formatNumber(measurement.peakMb),
    formatNumber(measurement.serverPeakMb),
  ];
}

/** Runs one upload in a separate process, into a new server with a new data folder. */
async function upload(request: Omit<UploadRequest, "endpoint">): Promise<UploadMeasurement> {
  const data = mkdtempSync(join(folder, "data-"));
  const command = join(import.meta.dirname, "../cli/dist/millrace.js");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const endpoint = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
    const cpuBefore = readCpuMicros(server.pid);
    const cost = await runChild<UploadCost>("upload-child", {
      ...request,
      endpoint,
    } satisfies UploadRequest);
    const stored = await countExamples(endpoint);
    if (stored !== request.rows) {
      throw new Error(
        `${request.method}: the server has ${stored} of ${request.rows} uploaded rows`,
      );
    }
    const serverMicros = (readCpuMicros(server.pid) - cpuBefore) / request.rows;
    return { ...cost, rows: request.rows, serverMicros, serverPeakMb: readPeakRssMb(server.pid) };
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
    rmSync(data, { recursive: true, force: true });
  }
}

async function countExamples(endpoint: string): Promise<number> {
  const [dataset] = (await (await fetch(`${endpoint}/datasets?name=bench`)).json()) as readonly {
    readonly example_count: number;
  }[];
  return dataset?.example_count ?? 0;
}
