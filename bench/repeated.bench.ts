// What does a conversation of 200 turns, one trace, cost on the wire when content that repeats is sent once?
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, createServer as createRelay } from "node:net";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { askChild } from "./processes.ts";
import type { ConversationAnswer, ConversationOrder } from "./repeated-child.ts";
import { median, publish, show, spread, table } from "./results.ts";
import { createConversation } from "./states.ts";

/** Bytes with content sent once, of those without, that are let pass. */
const goal = 0.1;

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

interface Figures extends ConversationAnswer {
  readonly wireBytes: number;
  /** Runs that the server does not give back as they were recorded. */
  readonly wrong: number;
}

const cases = (["by turns", "at once"] as const).flatMap((pace) =>
  (["none", "gzip"] as const).map((compression) => ({ pace, compression })),
);
type Case = (typeof cases)[number];
const drivers = ["millrace", "millrace-once"] as const;
const results = new Map<string, Figures[]>();
const keyOf = ({ pace, compression }: Case, driver: string): string =>
  [pace, compression, driver].join(", ");
const resultsOf = (one: Case, driver: string): readonly Figures[] =>
  results.get(keyOf(one, driver)) ?? [];

for (const round of rounds) {
  for (const one of cases) {
    for (const driver of drivers) {
      const figures = await measure({ ...one, driver });
      const key = keyOf(one, driver);
      results.set(key, [...(results.get(key) ?? []), figures]);
      console.error(`round ${round}: ${key}, ${show(figures.wireBytes)} bytes`);
    }
  }
}
report();

/** One client in a process of its own, against a local server of its own; counts what passes between them. */
async function measure(
  order: Pick<ConversationOrder, "driver" | "pace" | "compression">,
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
  const mark = createServer((_request, response) => {
    wireBytes = 0;
    response.end();
  }).listen(0, "127.0.0.1");
  await Promise.all([once(relay, "listening"), once(mark, "listening")]);
  const urlOf = (one: typeof relay): string =>
    `http://127.0.0.1:${(one.address() as AddressInfo).port}`;
  try {
    const answer = await askChild<ConversationAnswer>(
      "repeated-child",
      { ...order, endpoint: urlOf(relay), markUrl: urlOf(mark), conversations },
      { node: flags.node },
    );
    const wrong = await Promise.all(answer.ids.map((ids) => wrongIn(server.url, ids)));
    return { ...answer, wireBytes, wrong: wrong.reduce((sum, count) => sum + count, 0) };
  } finally {
    relay.close();
    mark.close();
    mark.closeAllConnections();
    await server.close();
  }
}

/** How many runs of a conversation are not at the server as they were recorded. */
async function wrongIn(url: string, [traceId, ...turns]: readonly string[]): Promise<number> {
  const response = await fetch(`${url}/runs/query`, {
    method: "POST",
    body: JSON.stringify({ trace: traceId, limit: 1_000, select: ["inputs", "outputs"] }),
  });
  const { runs } = (await response.json()) as {
    readonly runs: readonly { id: string; inputs: unknown; outputs: unknown }[];
  };
  const found = new Map(
    runs.map(({ id, inputs, outputs }) => [id, JSON.stringify([inputs, outputs])]),
  );
  const isWrong = (id: string, turn: number): boolean => {
    const { inputs, outputs } = payloads[turn] ?? {};
    return found.get(id) !== JSON.stringify([inputs, outputs]);
  };
  return turns.filter(isWrong).length;
}

function report(): void {
  const rows = cases.flatMap((one) =>
    drivers.map((driver) => {
      const all = resultsOf(one, driver);
      const inline = resultsOf(one, "millrace");
      const of = (name: "wireBytes" | "mainMicros" | "processMicros"): readonly number[] =>
        all.map((figures, round) => figures[name] / (inline[round]?.[name] ?? Number.NaN));
      const isOnce = driver === "millrace-once";
      return [
        `${one.pace}, ${one.compression === "none" ? "not compressed" : one.compression}`,
        isOnce ? "once" : "inline",
        show(median(all.map(({ wireBytes }) => wireBytes)) / conversations / 1_000),
        isOnce ? spread(of("wireBytes")) : "",
        spread(all.map(({ mainMicros }) => mainMicros)),
        spread(all.map(({ processMicros }) => processMicros)),
        isOnce ? spread(of("processMicros")) : "",
        String(all.reduce((sum, { lost, wrong }) => sum + lost + wrong, 0)),
      ];
    }),
  );
  const head = [
    "recorded",
    "repeated content",
    "kB a conversation, headers included",
    "of inline",
    "main CPU µs/run",
    "all threads µs/run",
    "of inline",
    "lost or not as recorded",
  ];
  const problems = cases.flatMap((one) => failuresOf(one));
  const notes = [
    `Each of ${rounds.length} interleaved rounds: ${conversations} ${conversations === 1 ? "conversation" : "conversations"} of 200 turns, one trace each, every turn a run with all messages so far, after two of 40 turns.`,
    "By turns: each is acknowledged before the next begins. At once: all of a conversation in one turn of the event loop.",
    "Bytes are those of the connection to the server, client to server. Afterwards each run is read from the server and compared.",
    ...problems.map((problem) => `**Failed:** ${problem}`),
  ];
  publish({
    script: "repeated",
    question: "What does a conversation cost on the wire when repeated content is sent once?",
    body: [table(head, rows), notes.join("\n")].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** Loss fails always; the ratio where nothing else makes the request small. */
function failuresOf(one: Case): readonly string[] {
  const [inline, own] = [resultsOf(one, "millrace"), resultsOf(one, "millrace-once")];
  const bad = [...inline, ...own].reduce((sum, { lost, wrong }) => sum + lost + wrong, 0);
  const losses = bad === 0 ? [] : [`${one.pace}, ${one.compression}: ${bad} runs lost or wrong.`];
  const ratio = median(
    own.map(({ wireBytes }, round) => wireBytes / (inline[round]?.wireBytes ?? Number.NaN)),
  );
  // Written so that NaN, where nothing was measured, fails.
  return one.compression === "none" && !(ratio <= goal)
    ? [...losses, `${one.pace}: ${show(ratio)} of the bytes, more than ${goal}.`]
    : losses;
}
