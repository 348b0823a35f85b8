// Under load: how many runs are lost, for how long does a client block the event loop, and does a long queue cost more?
import { parseArgs } from "node:util";
import { Burst, Paced, Backlog } from "./loads.ts";
import { measureInProcess } from "./processes.ts";
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

const loadsByName = {
  burst: new Burst(drivers),
  paced: new Paced(drivers, Number(flags.seconds)),
  waiting: new Backlog(),
};
const selectedNames = flags.parts.split(",");
const loads = Object.entries(loadsByName).flatMap(([name, load]) =>
  selectedNames.includes(name) ? [load] : [],
);

for (let round = 1; round <= rounds; round++) {
  for (const load of loads) {
    for (const { key, createRequest, sinkDelayMs } of load.measurements()) {
      const figures = await measureInProcess("load-child", createRequest, {
        sinkDelayMs,
        node: flags.node,
      });
      load.add(key, figures);
      console.error(`round ${round}: ${key} ${JSON.stringify(figures)}`);
    }
  }
}

const problems = loads.flatMap((load) => load.problems());
publish({
  script: "load",
  question: "What happens under load: lost runs, event-loop blocks, the cost of a long queue?",
  body: [
    ...loads.flatMap((load) => [load.question, load.table()]),
    [
      `Rounds: ${rounds}, interleaved. Figures are medians; for lost runs, event-loop blocks and memory they are the worst.`,
      ...(flags.node === undefined ? [] : [`The clients ran under Node ${flags.node}.`]),
      ...problems.map((problem) => `**Failed:** ${problem}`),
    ].join("\n"),
  ].join("\n\n"),
});
process.exitCode = flags.guard && problems.length > 0 ? 1 : 0;
