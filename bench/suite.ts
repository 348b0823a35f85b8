// Runs several benches one after the other, each in a process of its own, and says how long each took.
// `suite.ts micro` has the steps one by one; `suite.ts all` is what the published results are made of.
// Flags of its own: --parts a,b; --node 24. All others go to each bench, --save for one.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { goalNode } from "./goals.ts";

interface Part {
  readonly name: string;
  readonly script: string;
  readonly args?: string;
  /** Whether clients of their own processes are measured: those can run under another Node. */
  readonly hasClients?: boolean;
}

/** Those whose ratios are goals stand side by side: the machine's speed changes within seconds. */
const everyone =
  "langsmith,otlp-protobuf,millrace,naive,otlp-json,langsmith-tuned,langfuse,braintrust";

const micro: readonly Part[] = ["record", "json", "envelope", "queue", "durability"].map(
  (name) => ({
    name,
    script: `${name}.bench.ts`,
  }),
);

/** Meant for thirty minutes on two quiet cores; each part says at the end how long it took. */
const all: readonly Part[] = [
  {
    name: "peers",
    script: "deliver.ts",
    args: `--rounds 5 --share 0.6 --sizes S,M,L,XL,agent,conversation --drivers ${everyone}`,
    hasClients: true,
  },
  {
    name: "load",
    script: "load.ts",
    args: "--seconds 2 --drivers naive,otlp-protobuf,langsmith,langfuse,millrace",
    hasClients: true,
  },
  {
    name: "one-core",
    script: "deliver.ts",
    args: "--cpu 0 --rounds 3 --share 0.5 --drivers langsmith,otlp-protobuf,millrace,naive",
    hasClients: true,
  },
  ...micro,
  { name: "chart", script: "chart.ts" },
];

const suites: Readonly<Record<string, readonly Part[]>> = { micro, all };

const [suite = "", ...flags] = process.argv.slice(2);
const parts = suites[suite];
if (parts === undefined) {
  throw new RangeError(`No suite ${suite}; there are ${Object.keys(suites).join(", ")}`);
}
const chosen = taken("--parts")?.split(",");
// It comes with the packages, for Linux on x64.
const node =
  taken("--node") ??
  (existsSync(`${import.meta.dirname}/node_modules/node${goalNode}`) ? goalNode : undefined);

const times: string[] = [];
for (const { name, script, args = "", hasClients = false } of parts) {
  if (chosen !== undefined && !chosen.includes(name)) {
    continue;
  }
  const began = performance.now();
  const under = hasClients && node !== undefined ? ["--node", node] : [];
  const { status } = spawnSync(
    process.execPath,
    ["--import", "tsx", script, ...args.split(" ").filter(Boolean), ...under, ...flags],
    { stdio: "inherit", cwd: import.meta.dirname },
  );
  const seconds = Math.round((performance.now() - began) / 1_000);
  times.push(
    `${name.padEnd(12)} ${String(seconds).padStart(4)} s${status === 0 ? "" : "  FAILED"}`,
  );
  process.exitCode = status === 0 ? process.exitCode : 1;
}
console.log(times.join("\n"));

/** Takes a flag and its value out of the flags. */
function taken(flag: string): string | undefined {
  const at = flags.indexOf(flag);
  return at === -1 ? undefined : flags.splice(at, 2)[1];
}
