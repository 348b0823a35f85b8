// How many rows a second go into a dataset of the local server, and what does that cost who uploads?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askChild } from "./processes.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import type { UploadCost, UploadOrder, Way } from "./upload-child.ts";
import { publish, show, table } from "./results.ts";

const flag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
};

const rows = flag("--rows", 1_000_000);
const sideRows = Math.min(rows, 20_000);
const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));

/** A figure of one upload, server included. */
interface Measured extends UploadCost {
  readonly rows: number;
  readonly serverMicros: number;
}

const lines: [string, Measured][] = [];
const measure = async (name: string, order: Omit<UploadOrder, "endpoint">): Promise<void> => {
  const measured = await upload(order);
  lines.push([name, measured]);
  console.error(`${name}: ${show(measured.rows / measured.seconds)} rows/s`);
};
try {
  await measure("millrace: `examples.upload`", { way: "millrace", rows });
  const beside: readonly (readonly [string, Way])[] = [
    ["millrace: `examples.upload`", "millrace"],
    ["langsmith: `createExamples`, 1,000 a call", "createExamples"],
    ["langsmith: `uploadCsv`", "uploadCsv"],
  ];
  for (const [name, way] of beside) {
    await measure(name, { way, rows: sideRows });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

publish({
  script: "upload",
  question:
    "How many rows of about 1 kB a second go into a dataset, and what does that cost who uploads?",
  body: `${table(
    ["", "rows", "rows/s", "uploader: CPU µs a row", "server: CPU µs a row", "uploader: peak MB"],
    lines.map(([name, one]) => [
      name,
      one.rows.toLocaleString("en-US"),
      show(one.rows / one.seconds),
      show(one.cpuMicros),
      show(one.serverMicros),
      show(one.peakMb),
    ]),
  )}\n\nServer and uploader are processes of their own on one machine. CPU is that of all threads of a process; the rate is that of the machine as busy as it was. Peak memory is that of the uploading process, Node included. A CSV has inputs and outputs alone, no metadata and no ids.`,
});

/** One way, in a process of its own, into a server and a data folder of its own. */
async function upload(order: Omit<UploadOrder, "endpoint">): Promise<Measured> {
  const data = mkdtempSync(join(folder, "data-"));
  const command = join(import.meta.dirname, "../cli/dist/millrace.js");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const endpoint = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
    const before = cpuMicrosOf(server.pid);
    const cost = await askChild<UploadCost>("upload-child", {
      ...order,
      endpoint,
    } satisfies UploadOrder);
    const count = await countOf(endpoint);
    if (count !== order.rows) {
      throw new Error(`${order.way}: ${count} of ${order.rows} rows are there`);
    }
    const serverMicros = (cpuMicrosOf(server.pid) - before) / order.rows;
    return { ...cost, rows: order.rows, serverMicros };
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
    rmSync(data, { recursive: true, force: true });
  }
}

async function countOf(endpoint: string): Promise<number> {
  const [dataset] = (await (await fetch(`${endpoint}/datasets?name=bench`)).json()) as readonly {
    readonly example_count: number;
  }[];
  return dataset?.example_count ?? 0;
}
