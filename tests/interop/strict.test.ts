import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { RunnableLambda } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { Client, currentRun, traceable } from "millrace";
import type { ClientOptions, RunTree } from "millrace";
import { describe, expect, test } from "vitest";
import type { StrictResponse } from "./strict/answer.ts";
import { strictServer } from "./strict-server.ts";
import type { StrictOptions, StrictServer } from "./strict-server.ts";

// Tests our client against a server that checks every request against the documentation of the wire format.

const apiKey = "key";

interface Recorded {
  readonly server: StrictServer;
  readonly client: Client;
}

/** Records with `program`, and closes the client. Fails if a request breaks a rule. */
async function recorded(
  program: (client: Client, server: StrictServer) => Promise<void> | void,
  options: ClientOptions = {},
  serving: Partial<StrictOptions> = {},
): Promise<Recorded> {
  const server = await strictServer({ apiKey, ...serving });
  const messages: string[] = [];
  const client = new Client({
    apiKey,
    // With the prefix `/api/v1`, which API calls omit.
    endpoint: `${server.endpoint}/api/v1`,
    firstDelayMs: 5,
    aggregationDelayMs: 5,
    logger: { warn: (message) => messages.push(message) },
    ...options,
  });
  await program(client, server);
  await client.close();
  await server[Symbol.asyncDispose]();
  expect(server.violations()).toEqual([]);
  const { accepted, delivered, truncated } = client.stats();
  // The message about payloads that exceed the server's limit is logged once.
  const cut = messages.filter((message) => message.includes("exceeded the server's size limit"));
  // So is the first failure of a server that is temporarily unavailable.
  const unavailable = messages.filter((message) =>
    message.includes("kept in memory and sent when"),
  );
  const others = messages.length - cut.length - unavailable.length;
  expect({ delivered, others, cut: cut.length }).toEqual({
    delivered: accepted,
    others: 0,
    cut: Math.min(truncated, 1),
  });
  return { server, client };
}

/** Sends a warm-up run, so that `/info` has been received when this resolves. */
async function sendWarmUp(client: Client, server: StrictServer): Promise<void> {
  client.startRun({ name: "first", parent: null }).end();
  await client.flush();
  await expect.poll(() => server.infos).toBeGreaterThan(0);
}

const nasty = 'ünïcödé 漢字 🦫 "quoted" \\ \r\n\u0000\u2028 \ud800 --boundary\r\n--';

/** Records in every possible way, with values that are difficult to encode. */
async function recordEverything(client: Client): Promise<void> {
  const tokens = traceable(
    async function* tokens(count: number) {
      for (let n = 0; n < count; n += 1) {
        await Promise.resolve();
        yield `${nasty}${n}`;
      }
    },
    { client, runType: "llm", recordTokens: true, name: nasty },
  );
  const failing = traceable(
    async () => {
      await Promise.resolve();
      throw new RangeError(nasty);
    },
    { client, runType: "tool", name: "failing" },
  );
  const echo = traceable((input: object) => ({ ...input, [nasty]: [nasty] }), {
    client,
    runType: "retriever",
    tags: [nasty, "a,b"],
    metadata: { [nasty]: nasty, "": null, "a.b": { "c.d": 1 } },
  });
  const chain = traceable(
    async (question: string) => {
      const messages: string[] = [];
      for await (const token of tokens(3)) {
        messages.push(token);
      }
      await expect(failing()).rejects.toThrow(RangeError);
      currentRun()?.addEvent({ name: nasty, detail: { [nasty]: 1 } });
      for (let n = 0; n < 20; n += 1) {
        echo({ n, question });
      }
      const big = currentRun()?.startChild({ name: "big", inputs: { big: "x".repeat(1_048_576) } });
      big?.end({ big: nasty.repeat(20_000) });
      return { messages, when: new Date(0), many: 12n, none: undefined, not: Number.NaN };
    },
    { client, name: "chain" },
  );
  await chain(nasty);
  const open = client.startRun({ name: "open", parent: null, inputs: { a: 1 } });
  await client.flush();
  open.startChild({ name: "late", runType: "parser" }).fail(new Error("late"), { partial: true });
  open.end({ b: 2 });
  client.startRun({ name: "never ends", parent: null, runType: "embedding" });
}

const runsOfEverything = 1 + 1 + 1 + 20 + 1 + 2 + 1;

/** Responses by the number of the request. */
const faults: Readonly<Record<number, StrictResponse>> = {
  1: "hang up",
  3: { status: 429, headers: { "retry-after": "0" } },
  4: { status: 503 },
  6: "hang up",
};

describe("recorded runs respect every rule of the wire format", () => {
  test.each<[string, ClientOptions, Partial<StrictOptions>]>([
    ["inline, plain", { workers: 0, compression: "none" }, {}],
    ["inline, gzip", { workers: 0, compression: "gzip" }, { encodings: ["gzip"] }],
    ["two workers, plain", { workers: 2, compression: "none" }, {}],
    ["two workers, gzip", { workers: 2, compression: "gzip" }, { encodings: ["gzip"] }],
    ["gzip that is not offered", { workers: 0, compression: "gzip" }, {}],
    ["batches only", { workers: 0 }, { formats: ["batch", "single"] }],
    ["single runs only", { workers: 0 }, { formats: ["single"] }],
    ["single runs only, two workers", { workers: 2 }, { formats: ["single"] }],
    [
      "20 operations and 200 kB a request",
      { workers: 0 },
      { limits: { operations: 20, bytes: 200_000 } },
    ],
    [
      "temporarily unavailable",
      { workers: 0, retryAfterLimitMs: 100 },
      {
        limits: { operations: 20, bytes: 200_000 },
        onIngest: (count) => faults[count],
      },
    ],
  ])("%s", async (_what, options, serving) => {
    const { server } = await recorded(
      async (client, strict) => {
        await sendWarmUp(client, strict);
        await recordEverything(client);
      },
      options,
      serving,
    );
    expect(server.runs.size).toBe(1 + runsOfEverything);
    expect([...server.encodings]).toEqual(serving.encodings ?? []);
    expect(server.refused).toBe(serving.onIngest === undefined ? 0 : Object.keys(faults).length);
    const big = [...server.runs.values()].find(({ name }) => name === "big");
    // A payload that exceeds the request limit arrives as a marker.
    const tooLarge = {
      "[truncated]": expect.stringMatching(
        /^\d{7} bytes, left out because the run exceeds the server's size limit$/,
      ) as string,
    };
    expect(big).toMatchObject(
      serving.limits === undefined
        ? { inputs: { big: "x".repeat(1_048_576) }, outputs: { big: nasty.repeat(20_000) } }
        : { inputs: tooLarge, outputs: tooLarge },
    );
  });

  test.each([0, 2])(
    "5,000 runs at once, %i workers, in the order of their starts",
    async (workers) => {
      const started: RunTree[] = [];
      const { server } = await recorded(
        async (client, strict) => {
          await sendWarmUp(client, strict);
          const root = client.startRun({ name: "root", parent: null });
          for (let n = 0; n < 5_000; n += 1) {
            const run = root.startChild({ name: `${n}`, inputs: { n } });
            started.push(run);
            run.end({ n });
          }
          root.end();
        },
        { workers },
        workers === 0 ? { limits: { operations: 20, bytes: 200_000 } } : {},
      );
      const orders = started.map(({ id }) => server.runs.get(id)?.["dotted_order"] as string);
      expect(orders).toEqual(orders.toSorted());
      expect(Math.max(...server.batches)).toBe(workers === 0 ? 20 : 100);
      expect(new Set(orders).size).toBe(5_000);
    },
  );
});

test("a request contains as many runs as the server accepts", async () => {
  const { server } = await recorded(
    async (client, strict) => {
      await sendWarmUp(client, strict);
      for (let n = 0; n < 600; n += 1) {
        client.startRun({ name: `${n}`, parent: null }).end({ n });
      }
    },
    {},
    { limits: { operations: 1_000, bytes: 20_000_000 } },
  );
  expect(Math.max(...server.batches)).toBe(600);
});

test("text that escaping makes six times as long stays within the byte limit", async () => {
  const { server } = await recorded(
    async (client, strict) => {
      await sendWarmUp(client, strict);
      for (let n = 0; n < 100; n += 1) {
        client
          .startRun({ name: "long", parent: null, inputs: { text: "\u0000".repeat(5_000) } })
          .end();
      }
    },
    { workers: 0 },
    { limits: { operations: 20, bytes: 200_000 } },
  );
  expect(server.runs.size).toBe(101);
});

test("LangChain's tracer with our client respects every rule of the wire format", async () => {
  const { server } = await recorded(async (client) => {
    const prompt = ChatPromptTemplate.fromMessages([
      ["system", "Be brief."],
      ["human", "{question}"],
    ]);
    const model = new FakeListChatModel({ responses: [nasty, "again"] });
    const failing = RunnableLambda.from(() => {
      throw new Error(nasty);
    });
    const callbacks = [new LangChainTracer({ client, projectName: "lang" })];
    const chain = prompt.pipe(model).pipe(RunnableLambda.from((message) => message));
    await chain.invoke({ question: nasty }, { callbacks });
    for await (const chunk of await chain.stream({ question: "two" }, { callbacks })) {
      expect(chunk).toBeDefined();
    }
    await expect(prompt.pipe(failing).invoke({ question: "x" }, { callbacks })).rejects.toThrow(
      "漢字",
    );
    await awaitAllCallbacks();
  });
  const runs = [...server.runs.values()];
  expect(runs.length).toBeGreaterThanOrEqual(11);
  expect(new Set(runs.map((run) => run["session_name"]))).toEqual(new Set(["lang"]));
  expect(runs.filter((run) => run["run_type"] === "llm")).toHaveLength(2);
  expect(runs.every((run) => (run["end_time"] ?? null) !== null)).toBe(true);
});
