// What does recording a streamed answer cost with a wrapped client, and how much later is the first token?
import { parseArgs } from "node:util";
import { describeExceeded, guardedGoalTable } from "./guarded-goals.ts";
import type { GuardedGoal } from "./guarded-goals.ts";
import type {
  IntegrationsFigures,
  IntegrationsRequest,
  WrapperName,
} from "./integrations-child.ts";
import { measureInProcess, withServer } from "./processes.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";

const wrapperNames = ["none", "millrace", "langsmith"] as const satisfies readonly WrapperName[];
/** Bytes of a stream by the names of the flag `--sizes`, with the least number of calls that are measured. */
const answers: Readonly<Record<string, { readonly bytes: number; readonly calls: number }>> = {
  "2kB": { bytes: 2_000, calls: 1_000 },
  "50kB": { bytes: 50_000, calls: 200 },
  "1MB": { bytes: 1_000_000, calls: 20 },
};

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    sizes: { type: "string", default: Object.keys(answers).join(",") },
    seconds: { type: "string", default: "2" },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const minMs = Number(flags.seconds) * 1_000;
const sizes = flags.sizes.split(",").filter((size) => Object.hasOwn(answers, size));

const measured = new Map<string, IntegrationsFigures[]>();
const figuresOf = (size: string, wrapper: WrapperName): readonly IntegrationsFigures[] =>
  measured.get(`${size} ${wrapper}`) ?? [];

const each = (
  size: string,
  wrapper: WrapperName,
  figure: keyof IntegrationsFigures,
): readonly number[] => figuresOf(size, wrapper).map((figures) => figures[figure]);

/** A figure of each round above that of the client without a wrapper, in the same round. */
function added(
  size: string,
  wrapper: WrapperName,
  figure: keyof IntegrationsFigures,
): readonly number[] {
  const bare = each(size, "none", figure);
  return each(size, wrapper, figure).map((value, round) => value - (bare[round] ?? Number.NaN));
}

await withServer("model-api", async (baseURL) => {
  for (let round = 1; round <= rounds; round++) {
    for (const size of sizes) {
      for (const wrapper of wrapperNames) {
        await measureOnce({ round, size, wrapper, baseURL });
      }
    }
  }
});
report();

interface Subject {
  readonly round: number;
  readonly size: string;
  readonly wrapper: WrapperName;
  readonly baseURL: string;
}

async function measureOnce({ round, size, wrapper, baseURL }: Subject): Promise<void> {
  const { bytes: answerBytes = 0, calls = 0 } = answers[size] ?? {};
  const figures = await measureInProcess<IntegrationsFigures>(
    "integrations-child",
    (endpoint): IntegrationsRequest => ({
      wrapper,
      baseURL,
      endpoint,
      answerBytes,
      warmupCalls: calls,
      calls,
      minMs,
    }),
    { node: flags.node },
  );
  measured.set(`${size} ${wrapper}`, [...figuresOf(size, wrapper), figures]);
  console.error(
    `round ${round}: ${size} ${wrapper}, ${formatNumber(figures.mainMicros)} µs of the main thread, first token p99 ${formatNumber(figures.firstTokenMicrosP99)} µs, ${figures.calls} calls, ${figures.received} of ${figures.expected} runs`,
  );
}

function goalsOf(size: string): readonly GuardedGoal[] {
  return [
    {
      title: `${size}: added main CPU, relative to langsmith`,
      value:
        median(added(size, "millrace", "mainMicros")) /
        median(added(size, "langsmith", "mainMicros")),
      limit: 0.1,
      guardLimit: 0.3,
    },
    {
      title: `${size}: added to the first token at p99, ms`,
      value: median(added(size, "millrace", "firstTokenMicrosP99")) / 1_000,
      limit: 1,
      guardLimit: 5,
    },
  ];
}

function report(): void {
  const columns = [
    "mainMicros",
    "allMicros",
    "firstTokenMicrosP50",
    "firstTokenMicrosP99",
  ] as const;
  const rows = sizes.flatMap((size) =>
    wrapperNames.map((wrapper) => [
      size,
      wrapper === "none" ? "the client alone" : wrapper,
      ...columns.map((figure) =>
        formatSpread(
          wrapper === "none" ? each(size, wrapper, figure) : added(size, wrapper, figure),
        ),
      ),
      formatNumber(median(each(size, wrapper, "peakRssMb"))),
    ]),
  );
  const goals = sizes.flatMap(goalsOf);
  const problems = [
    ...sizes.flatMap((size) =>
      figuresOf(size, "millrace").some(({ received, expected }) => received < expected)
        ? [`Millrace lost runs at ${size}.`]
        : [],
    ),
    ...(flags.guard ? describeExceeded(goals) : []),
  ];
  publish({
    script: "integrations",
    question: "What does recording a streamed answer cost with a wrapped OpenAI client?",
    node: flags.node,
    body: [
      table(
        [
          "stream",
          "wrapper",
          "main thread µs",
          "all threads µs",
          "first token p50 µs",
          "first token p99 µs",
          "memory MB",
        ],
        rows,
      ),
      guardedGoalTable(goals),
      [
        `Median (lowest–highest) of ${rounds} interleaved rounds of at least ${flags.seconds} s. A call streams an answer, one event a write, and the program reads each chunk; one call after the other, with the cost of sending the runs. Wrappers: what they add to the client alone, in the same round.`,
        ...problems.map((problem) => `**Failed:** ${problem}`),
      ].join("\n"),
    ].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}
