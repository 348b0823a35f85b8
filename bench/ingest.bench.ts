// How many complete runs a second does the local server take in and give back, and what do both sides spend on one?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { IngestCost, IngestOrder } from "./ingest-child.ts";
import { askChild, nodeOf } from "./processes.ts";
import { median, publish, show, spread, table } from "./results.ts";
import { workloadNames, workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const option = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(name);
  return at === -1 ? fallback : (process.argv[at + 1] ?? fallback);
};

/** Times the runs that a size usually has in this suite: a server is at work for longer than its compiler. */
const share = Number(option("--share", "4"));
const rounds = Number(option("--rounds", "3"));
/** The Node of server and client. */
const node = option("--node", "") || undefined;
const chosen = option("--sizes", "S,M,L").split(",");
const sizes = workloadNames.filter((name) => chosen.includes(name));
const command = option("--server", join(import.meta.dirname, "../cli/dist/millrace.js"));
const warmupShare = 0.3;
/** Runs that are read back and compared with what was recorded. */
const samples = 100;

interface Measured extends IngestCost {
  readonly runs: number;
  readonly diskBytes: number;
}

const results = new Map<WorkloadName, Measured[]>(sizes.map((size) => [size, []]));
for (let round = 1; round <= rounds; round++) {
  for (const size of sizes) {
    const one = await measure(size);
    results.get(size)?.push(one);
    console.error(`round ${round}: ${size}, ${show(one.runs / one.seconds)} runs/s`);
  }
}

const figure = (all: readonly Measured[], of: (one: Measured) => number): string =>
  spread(all.map(of));
const rows = [...results].map(([size, all]) => [
  size,
  show(all[0]?.runs ?? 0),
  figure(all, ({ runs, seconds }) => runs / seconds),
  figure(all, ({ cpuMicros }) => cpuMicros),
  figure(all, ({ serverMicros }) => serverMicros),
  show(median(all.map(({ diskBytes }) => diskBytes)) / 1_000),
]);
publish({
  script: "ingest",
  section: node === undefined ? "ingest" : `ingest-node${node}`,
  node,
  question:
    "How many complete runs a second does the local server take in and give back, and what do both sides spend on one?",
  body: `${table(
    ["size", "runs", "runs/s", "client: CPU µs a run", "server: CPU µs a run", "kB a run on disk"],
    rows,
  )}\n\nMedian (lowest–highest) of ${rounds} rounds, each with a server and a folder of its own. Server and client, the SDK with its defaults, are processes of their own on one machine; CPU is that of all threads of a process. The time ends when the last run is acknowledged, which the server does once it is stored; then it must count all of them. In each round ${samples} runs are read back and compared with what was recorded.`,
});

async function measure(size: WorkloadName): Promise<Measured> {
  const data = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const server = spawn(nodeOf(node), [command, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const endpoint = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
    const runs = Math.ceil((workloads[size].runs * share) / 10) * 10;
    const order = { endpoint, serverPid: server.pid ?? 0, workload: size, runs };
    const warmupRuns = Math.ceil((runs * warmupShare) / 10) * 10;
    const cost = await askChild<IngestCost>(
      "ingest-child",
      { ...order, warmupRuns } satisfies IngestOrder,
      { node },
    );
    if (cost.lost > 0) {
      throw new Error(`${size}: the client gave ${cost.lost} runs up`);
    }
    await compare(endpoint, size, cost.ids);
    server.kill("SIGTERM");
    await once(server, "exit");
    const bytes = readdirSync(data).map((file) => statSync(join(data, file)).size);
    const diskBytes = bytes.reduce((sum, one) => sum + one, 0) / cost.ids.length;
    return { ...cost, runs, diskBytes };
  } finally {
    server.kill("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  }
}

/** @throws Error a run is not there as it was recorded. */
async function compare(
  endpoint: string,
  size: WorkloadName,
  ids: readonly string[],
): Promise<void> {
  const payloads = workloads[size].createPayloads();
  for (let sample = 0; sample < samples; sample++) {
    const at = Math.floor((sample * (ids.length - 1)) / (samples - 1));
    const run = (await (await fetch(`${endpoint}/runs/${ids[at]}`)).json()) as {
      readonly inputs?: unknown;
      readonly outputs?: unknown;
      readonly end_time?: unknown;
    };
    const wanted = payloads[at % payloads.length];
    const isWhole =
      isDeepStrictEqual([run.inputs, run.outputs], [wanted?.inputs, wanted?.outputs]) &&
      typeof run.end_time === "string";
    if (!isWhole) {
      throw new Error(`${size}: run ${ids[at]} is not as it was recorded`);
    }
  }
}
