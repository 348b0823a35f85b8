// How many complete runs per second does the local server store, and what CPU time do client and server take for each?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { IngestResult, IngestRequest } from "./ingest-child.ts";
import { runChild, nodePath } from "./processes.ts";
import { median, publish, formatNumber, formatSpread, table } from "./results.ts";
import { workloadNames, workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const readOption = (name: string, fallback: string): string => {
  const index = process.argv.indexOf(name);
  return index === -1 ? fallback : (process.argv[index + 1] ?? fallback);
};

/** Factor for the usual number of runs of a size: the server must work for longer than V8 takes to compile its code. */
const share = Number(readOption("--share", "4"));
const rounds = Number(readOption("--rounds", "3"));
/** The Node version of server and client. */
const node = readOption("--node", "") || undefined;
const sizeNames = readOption("--sizes", "S,M,L").split(",");
const sizes = workloadNames.filter((name) => sizeNames.includes(name));
const command = readOption("--server", join(import.meta.dirname, "../cli/dist/millrace.js"));
const warmupShare = 0.3;
/** Number of runs that are read from the server and compared with the recorded ones. */
const sampleCount = 100;

interface IngestMeasurement extends IngestResult {
  readonly runs: number;
  readonly diskBytes: number;
}

const results = new Map<WorkloadName, IngestMeasurement[]>(sizes.map((size) => [size, []]));
for (let round = 1; round <= rounds; round++) {
  for (const size of sizes) {
    const measurement = await measure(size);
    results.get(size)?.push(measurement);
    console.error(
      `round ${round}: ${size}, ${formatNumber(measurement.runs / measurement.seconds)} runs/s`,
    );
  }
}

const formatFigure = (
  measurements: readonly IngestMeasurement[],
  read: (measurement: IngestMeasurement) => number,
): string => formatSpread(measurements.map(read));
const rows = [...results].map(([size, measurements]) => [
  size,
  formatNumber(measurements[0]?.runs ?? 0),
  formatFigure(measurements, ({ runs, seconds }) => runs / seconds),
  formatFigure(measurements, ({ cpuMicros }) => cpuMicros),
  formatFigure(measurements, ({ serverMicros }) => serverMicros),
  formatNumber(median(measurements.map(({ diskBytes }) => diskBytes)) / 1_000),
]);
publish({
  script: "ingest",
  section: node === undefined ? "ingest" : `ingest-node${node}`,
  node,
  question:
    "How many complete runs per second does the local server store, and what CPU time do both sides take for each?",
  body: `${table(
    ["size", "runs", "runs/s", "client: CPU µs/run", "server: CPU µs/run", "kB/run on disk"],
    rows,
  )}\n\nMedian (lowest–highest) of ${rounds} rounds, each with a new server and an empty data folder. Server and client (the SDK with its defaults) are separate processes on one machine; CPU is that of all threads of a process. The time ends when the last run is acknowledged; the server acknowledges a run once it is stored. Afterwards the server must count all runs, and in each round ${sampleCount} runs are read from it and compared with the recorded ones.`,
});

async function measure(size: WorkloadName): Promise<IngestMeasurement> {
  const data = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const server = spawn(nodePath(node), [command, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const endpoint = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
    const runs = Math.ceil((workloads[size].runs * share) / 10) * 10;
    const request = { endpoint, serverPid: server.pid ?? 0, workload: size, runs };
    const warmupRuns = Math.ceil((runs * warmupShare) / 10) * 10;
    const result = await runChild<IngestResult>(
      "ingest-child",
      { ...request, warmupRuns } satisfies IngestRequest,
      { node },
    );
    if (result.lost > 0) {
      throw new Error(`${size}: the client lost ${result.lost} runs`);
    }
    await compareStoredRuns(endpoint, size, result.ids);
    server.kill("SIGTERM");
    await once(server, "exit");
    const bytes = readdirSync(data).map((file) => statSync(join(data, file)).size);
    const diskBytes = bytes.reduce((sum, fileBytes) => sum + fileBytes, 0) / result.ids.length;
    return { ...result, runs, diskBytes };
  } finally {
    server.kill("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  }
}

/** Reads a sample of the runs from the server. @throws Error a run differs from the recorded one. */
async function compareStoredRuns(
  endpoint: string,
  size: WorkloadName,
  ids: readonly string[],
): Promise<void> {
  const payloads = workloads[size].createPayloads();
  for (let sample = 0; sample < sampleCount; sample++) {
    const index = Math.floor((sample * (ids.length - 1)) / (sampleCount - 1));
    const run = (await (await fetch(`${endpoint}/runs/${ids[index]}`)).json()) as {
      readonly inputs?: unknown;
      readonly outputs?: unknown;
      readonly end_time?: unknown;
    };
    const expected = payloads[index % payloads.length];
    const isSame =
      isDeepStrictEqual([run.inputs, run.outputs], [expected?.inputs, expected?.outputs]) &&
      typeof run.end_time === "string";
    if (!isSame) {
      throw new Error(`${size}: run ${ids[index]} on the server differs from the recorded one`);
    }
  }
}
