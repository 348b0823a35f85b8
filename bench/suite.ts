// Runs several benches one after the other, each in a separate process, and prints how long each took. `suite.ts micro`
// runs the benches of single steps, `suite.ts all` those of the published results. Its own flags are --parts a,b and
// --node 24; all other flags, such as --save, are passed on to each bench.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { goalNode } from "./goals.ts";

interface Bench {
  readonly name: string;
  readonly script: string;
  readonly args?: string;
  /** Whether the bench measures clients in separate processes, which can run under another Node version. */
  readonly hasClients?: boolean;
}

/** All clients. Clients whose ratio is a goal follow each other, because the machine's speed changes within seconds. */
const allClients =
  "langsmith,otlp-protobuf,millrace,naive,otlp-json,langsmith-tuned,langfuse,braintrust";

const micro: readonly Bench[] = ["record", "json", "envelope", "queue", "durability"].map(
  (name) => ({
    name,
    script: `${name}.bench.ts`,
  }),
);

/** The benches of the published results: about thirty minutes on two idle cores. */
const all: readonly Bench[] = [
  {
    name: "peers",
    script: "deliver.ts",
    args: `--rounds 5 --share 0.6 --sizes S,M,L,XL,agent,conversation --drivers ${allClients}`,
    hasClients: true,
  },
  {
    name: "load",
    script: "load.ts",
    args: "--seconds 2 --drivers naive,otlp-protobuf,langsmith,langfuse,millrace",
    hasClients: true,
  },
  { name: "start", script: "start.bench.ts", hasClients: true },
  {
    name: "one-core",
    script: "deliver.ts",
    args: "--cpu 0 --rounds 3 --share 0.5 --drivers langsmith,otlp-protobuf,millrace,naive",
    hasClients: true,
  },
  ...micro,
  { name: "chart", script: "chart.ts" },
];

const suites: Readonly<Record<string, readonly Bench[]>> = { micro, all };

const [suite = "", ...flags] = process.argv.slice(2);
const benches = suites[suite];
if (benches === undefined) {
  throw new RangeError(`Unknown suite ${suite}; the suites are ${Object.keys(suites).join(", ")}`);
}
const selectedNames = takeFlag("--parts")?.split(",");
// This Node version is an optional dependency, which is installed on Linux x64 only.
const node =
  takeFlag("--node") ??
  (existsSync(`${import.meta.dirname}/node_modules/node${goalNode}`) ? goalNode : undefined);

const times: string[] = [];
for (const { name, script, args = "", hasClients = false } of benches) {
  if (selectedNames !== undefined && !selectedNames.includes(name)) {
    continue;
  }
  const startedAt = performance.now();
  const nodeFlags = hasClients && node !== undefined ? ["--node", node] : [];
  const { status } = spawnSync(
    process.execPath,
    ["--import", "tsx", script, ...args.split(" ").filter(Boolean), ...nodeFlags, ...flags],
    { stdio: "inherit", cwd: import.meta.dirname },
  );
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  times.push(
    `${name.padEnd(12)} ${String(seconds).padStart(4)} s${status === 0 ? "" : "  FAILED"}`,
  );
  process.exitCode = status === 0 ? process.exitCode : 1;
}
console.log(times.join("\n"));

/** Removes a flag with its value from the flags and returns the value. */
function takeFlag(flag: string): string | undefined {
  const at = flags.indexOf(flag);
  return at === -1 ? undefined : flags.splice(at, 2)[1];
}
