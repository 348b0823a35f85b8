// Under load, what is lost, how long does a client hold the event loop, and does a long queue cost more?
import { parseArgs } from "node:util";
import { Burst, Paced, Waiting } from "./loads.ts";
import { measureIn } from "./processes.ts";
import { publish } from "./results.ts";

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "1" },
    drivers: {
      type: "string",
      default:
        "naive,otlp-protobuf,otlp-json,langsmith,langsmith-tuned,langfuse,braintrust,millrace",
    },
    parts: { type: "string", default: "burst,paced,waiting" },
    seconds: { type: "string", default: "3" },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const drivers = ["none", ...flags.drivers.split(",")];

const all = {
  burst: new Burst(drivers),
  paced: new Paced(drivers, Number(flags.seconds)),
  waiting: new Waiting(),
};
const chosen = flags.parts.split(",");
const loads = Object.entries(all).flatMap(([name, load]) => (chosen.includes(name) ? [load] : []));

for (let round = 1; round <= rounds; round++) {
  for (const load of loads) {
    for (const { key, orderFor, sinkDelayMs } of load.measurements()) {
      const figures = await measureIn("load-child", orderFor, { sinkDelayMs, node: flags.node });
      load.add(key, figures);
      console.error(`round ${round}: ${key} ${JSON.stringify(figures)}`);
    }
  }
}

const problems = loads.flatMap((load) => load.problems());
publish({
  script: "load",
  question: "What is lost, held and slowed under load?",
  body: [
    ...loads.flatMap((load) => [load.question, load.table()]),
    [
      `Rounds: ${rounds}, interleaved; medians, and of losses, holds and memory the worst.`,
      ...(flags.node === undefined ? [] : [`The clients ran under Node ${flags.node}.`]),
      ...problems.map((problem) => `**Failed:** ${problem}`),
    ].join("\n"),
  ].join("\n\n"),
});
process.exitCode = flags.guard && problems.length > 0 ? 1 : 0;
