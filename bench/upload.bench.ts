// How many rows a second go into a dataset of the local server, and what does that cost who uploads?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askChild } from "./processes.ts";
import { cpuMicrosOf, peakRssMb } from "./process-figures.ts";
import type { UploadCost, UploadOrder, Way } from "./upload-child.ts";
import { publish, show, table } from "./results.ts";

const flag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
};

const rows = flag("--rows", 1_000_000);
/** What others take minutes for. */
const besideRows = 20_000;
const goal = { rate: 15_000, peakMb: 250 };
const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));

const count = (value: number): string => value.toLocaleString("en-US");

const figures = [
  "",
  "rows",
  "rows/s",
  "uploader: CPU µs a row",
  "server: CPU µs a row",
  "uploader: peak MB",
  "server: peak MB",
];
const fineprint =
  "Server and uploader are processes of their own on one machine. CPU is that of all threads of a process; the rate is that of the machine as busy as it was. Peak memory is that of the process, Node included.";

/** A figure of one upload, server included. */
interface Measured extends UploadCost {
  readonly rows: number;
  readonly serverMicros: number;
  readonly serverPeakMb: number;
}

const measure = async (name: string, order: Omit<UploadOrder, "endpoint">): Promise<Measured> => {
  const measured = await upload(order);
  console.error(`${name}: ${show(measured.rows / measured.seconds)} rows/s`);
  return measured;
};

const ways: readonly (readonly [string, Way])[] = [
  ["millrace: `examples.upload`", "millrace"],
  ["langsmith: `createExamples`, 1,000 a call", "createExamples"],
  ["langsmith: `uploadCsv`", "uploadCsv"],
];
try {
  if (process.argv.includes("--beside")) {
    await publishBeside();
  } else {
    await publishSize();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** One section a size: rates and memory of several stand side by side. */
async function publishSize(): Promise<void> {
  const one = await measure("millrace", { way: "millrace", rows });
  const rate = one.rows / one.seconds;
  const held = rate >= goal.rate && one.peakMb <= goal.peakMb ? "held" : "missed";
  const tenths = one.stages.map(({ rows: done, seconds, nowMb }, index) => {
    const before = one.stages[index - 1] ?? { rows: 0, seconds: 0 };
    return [count(done), show((done - before.rows) / (seconds - before.seconds)), show(nowMb)];
  });
  publish({
    script: "upload",
    section: `upload-${rows}`,
    question: `How many rows of about 1 kB a second go into a dataset: ${count(rows)} rows?`,
    body: `${table(figures, [["millrace: `examples.upload`", ...figuresOf(one)]])}

Goal: ${count(goal.rate)} rows/s on two cores, server included, and ${goal.peakMb} MB at most in the uploader, whatever the number of rows: ${held}. Each tenth of it:

${table(["rows done", "rows/s since the line before", "uploader: MB now"], tenths)}

${fineprint}`,
  });
}

async function publishBeside(): Promise<void> {
  const lines: string[][] = [];
  for (const [name, way] of ways) {
    const one = await measure(name, { way, rows: besideRows });
    lines.push([name, ...figuresOf(one)]);
  }
  publish({
    script: "upload",
    question: `How many rows of about 1 kB a second go into a dataset, beside langsmith's client: ${count(besideRows)} rows?`,
    body: `${table(figures, lines)}

${fineprint} A CSV has inputs and outputs alone, no metadata and no ids. With so few rows the start of a process is much of it.`,
  });
}
/** Of {@link figures}, but for the first. */
function figuresOf(one: Measured): string[] {
  return [
    count(one.rows),
    show(one.rows / one.seconds),
    show(one.cpuMicros),
    show(one.serverMicros),
    show(one.peakMb),
    show(one.serverPeakMb),
  ];
}

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
    const there = await countOf(endpoint);
    if (there !== order.rows) {
      throw new Error(`${order.way}: ${there} of ${order.rows} rows are there`);
    }
    const serverMicros = (cpuMicrosOf(server.pid) - before) / order.rows;
    return { ...cost, rows: order.rows, serverMicros, serverPeakMb: peakRssMb(server.pid) };
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
