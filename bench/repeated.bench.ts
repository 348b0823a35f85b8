// How many bytes does a trace with a conversation of 200 turns take on the network if repeated content is sent once?
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, createServer as createRelay } from "node:net";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { runChild } from "./processes.ts";
import type { ConversationResult, ConversationRequest } from "./repeated-child.ts";
import { median, publish, formatNumber, formatSpread, table } from "./results.ts";
import { createConversation } from "./states.ts";

/** Largest accepted ratio of the bytes with repeated content sent once to the bytes with all content inline. */
const maxRatio = 0.1;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    conversations: { type: "string", default: "1" },
    node: { type: "string" },
    save: { type: "boolean", default: false },
  },
});
const conversations = Number(flags.conversations);
const rounds = Array.from({ length: Number(flags.rounds) }, (_, round) => round + 1);
const payloads = createConversation();

const require = createRequire(new URL("../package.json", import.meta.url));
const { startServer } = (await import(pathToFileURL(require.resolve("@millrace/server")).href)) as {
  startServer: (options: object) => Promise<{ url: string; close(): Promise<void> }>;
};

interface Figures extends ConversationResult {
  readonly wireBytes: number;
  /** Number of runs on the server that differ from the recorded ones. */
  readonly differing: number;
}

const cases = (["by turns", "at once"] as const).flatMap((pace) =>
  (["none", "gzip"] as const).map((compression) => ({ pace, compression })),
);
type BenchCase = (typeof cases)[number];
const drivers = ["millrace", "millrace-once"] as const;
const results = new Map<string, Figures[]>();
const resultKey = ({ pace, compression }: BenchCase, driver: string): string =>
  [pace, compression, driver].join(", ");
const resultsFor = (benchCase: BenchCase, driver: string): readonly Figures[] =>
  results.get(resultKey(benchCase, driver)) ?? [];

for (const round of rounds) {
  for (const benchCase of cases) {
    for (const driver of drivers) {
      const figures = await measure({ ...benchCase, driver });
      const key = resultKey(benchCase, driver);
      results.set(key, [...(results.get(key) ?? []), figures]);
      console.error(`round ${round}: ${key}, ${formatNumber(figures.wireBytes)} bytes`);
    }
  }
}
report();

/** Runs one client in a separate process against a new local server, and counts the bytes that it sends. */
async function measure(
  request: Pick<ConversationRequest, "driver" | "pace" | "compression">,
): Promise<Figures> {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const { port, hostname } = new URL(server.url);
  let wireBytes = 0;
  const relay = createRelay((inner) => {
    const outer = connect(Number(port), hostname);
    inner.on("data", (data: Buffer) => {
      wireBytes += data.length;
    });
    inner.pipe(outer).pipe(inner);
    inner.on("error", () => outer.destroy());
    outer.on("error", () => inner.destroy());
  }).listen(0, "127.0.0.1");
  const startSignal = createServer((_request, response) => {
    wireBytes = 0;
    response.end();
  }).listen(0, "127.0.0.1");
  await Promise.all([once(relay, "listening"), once(startSignal, "listening")]);
  const serverUrl = (listener: typeof relay): string =>
    `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  try {
    const result = await runChild<ConversationResult>(
      "repeated-child",
      { ...request, endpoint: serverUrl(relay), startUrl: serverUrl(startSignal), conversations },
      { node: flags.node },
    );
    const differing = await Promise.all(result.ids.map((ids) => countDifferences(server.url, ids)));
    return { ...result, wireBytes, differing: differing.reduce((sum, count) => sum + count, 0) };
  } finally {
    relay.close();
    startSignal.close();
    startSignal.closeAllConnections();
    await server.close();
  }
}

/** Counts the runs of a conversation that differ on the server from the recorded ones. */
async function countDifferences(
  url: string,
  [traceId, ...turns]: readonly string[],
): Promise<number> {
  const response = await fetch(`${url}/runs/query`, {
    method: "POST",
    body: JSON.stringify({ trace: traceId, limit: 1_000, select: ["inputs", "outputs"] }),
  });
  const { runs } = (await response.json()) as {
    readonly runs: readonly { id: string; inputs: unknown; outputs: unknown }[];
  };
  const storedPayloads = new Map(
    runs.map(({ id, inputs, outputs }) => [id, JSON.stringify([inputs, outputs])]),
  );
  const isDifferent = (id: string, turn: number): boolean => {
    const { inputs, outputs } = payloads[turn] ?? {};
    return storedPayloads.get(id) !== JSON.stringify([inputs, outputs]);
  };
  return turns.filter(isDifferent).length;
}

function report(): void {
  const rows = cases.flatMap((benchCase) =>
    drivers.map((driver) => {
      const all = resultsFor(benchCase, driver);
      const inline = resultsFor(benchCase, "millrace");
      const ratiosToInline = (
        name: "wireBytes" | "mainMicros" | "processMicros",
      ): readonly number[] =>
        all.map((figures, round) => figures[name] / (inline[round]?.[name] ?? Number.NaN));
      const isOnce = driver === "millrace-once";
      return [
        `${benchCase.pace}, ${benchCase.compression === "none" ? "not compressed" : benchCase.compression}`,
        isOnce ? "once" : "inline",
        formatNumber(median(all.map(({ wireBytes }) => wireBytes)) / conversations / 1_000),
        isOnce ? formatSpread(ratiosToInline("wireBytes")) : "",
        formatSpread(all.map(({ mainMicros }) => mainMicros)),
        formatSpread(all.map(({ processMicros }) => processMicros)),
        isOnce ? formatSpread(ratiosToInline("processMicros")) : "",
        String(all.reduce((sum, { lost, differing }) => sum + lost + differing, 0)),
      ];
    }),
  );
  const head = [
    "recorded",
    "repeated content",
    "kB/conversation, headers included",
    "relative to inline",
    "main CPU µs/run",
    "all threads µs/run",
    "relative to inline",
    "lost or different",
  ];
  const problems = cases.flatMap((benchCase) => findFailures(benchCase));
  const notes = [
    `Each of ${rounds.length} interleaved rounds records ${conversations} ${conversations === 1 ? "conversation" : "conversations"} of 200 turns, each as one trace, after a warm-up of two conversations of 40 turns. Every turn is a run with all messages so far.`,
    "By turns: each turn is acknowledged before the next begins. At once: a whole conversation is recorded in one turn of the event loop.",
    "Bytes are those that the client sends to the server. Afterwards each run is read from the server and compared with the recorded one.",
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  publish({
    script: "repeated",
    question: "How many bytes does a conversation take if repeated content is sent once?",
    body: [table(head, rows), notes.join("\n")].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/**
 * Lost or different runs are always a failure; a bad ratio only without compression, which would also make requests
 * small.
 */
function findFailures(benchCase: BenchCase): readonly string[] {
  const [inline, deduplicated] = [
    resultsFor(benchCase, "millrace"),
    resultsFor(benchCase, "millrace-once"),
  ];
  const badRuns = [...inline, ...deduplicated].reduce(
    (sum, { lost, differing }) => sum + lost + differing,
    0,
  );
  const losses =
    badRuns === 0
      ? []
      : [`${benchCase.pace}, ${benchCase.compression}: ${badRuns} runs lost or different.`];
  const ratio = median(
    deduplicated.map(
      ({ wireBytes }, round) => wireBytes / (inline[round]?.wireBytes ?? Number.NaN),
    ),
  );
  // The comparison is written so that NaN, without a measurement, counts as a failure.
  return benchCase.compression === "none" && !(ratio <= maxRatio)
    ? [...losses, `${benchCase.pace}: ${formatNumber(ratio)} of the bytes, more than ${maxRatio}.`]
    : losses;
}
