import { toWireRun } from "../support/wire-run.ts";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { AIMessageChunk } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { FakeListChatModel, FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { startTestServer } from "../support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import { Client as TodaysClient } from "langsmith";
import { Client as OldClient } from "langsmith-0.1";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import type { WireRun } from "../../src/main/index.ts";

let server: RunningServer;
let reader: Client;

beforeAll(async () => {
  server = await startTestServer();
  reader = new Client({ endpoint: server.url });
});

afterAll(async () => {
  await reader.close();
  await server.close();
});

type TracerClient = NonNullable<
  NonNullable<ConstructorParameters<typeof LangChainTracer>[0]>["client"]
>;

interface Sender {
  readonly client: TracerClient;
  /** Resolves when everything that was recorded has arrived. */
  readonly settle: () => Promise<unknown>;
}

const senders: readonly (readonly [string, () => Sender])[] = [
  [
    "langsmith 0.1",
    () => {
      const client = new OldClient({ apiUrl: server.url, apiKey: "none" });
      // The client's types are older than those that LangChain expects.
      const tracerClient = client as unknown as TracerClient;
      return { client: tracerClient, settle: () => client.awaitPendingTraceBatches() };
    },
  ],
  [
    "langsmith 0.10",
    () => {
      const client = new TodaysClient({ apiUrl: server.url, apiKey: "none" });
      return { client, settle: () => client.awaitPendingTraceBatches() };
    },
  ],
  [
    "ours",
    () => {
      const client = new Client({ endpoint: server.url });
      return { client, settle: () => client.close() };
    },
  ],
];

/** Runs the work with a tracer, and reads back the runs that the tracer recorded. */
async function traced(
  createSender: () => Sender,
  work: (tracer: LangChainTracer) => Promise<unknown>,
): Promise<readonly WireRun[]> {
  const projectName = `langchain ${crypto.randomUUID()}`;
  const { client, settle } = createSender();
  await work(new LangChainTracer({ client, projectName }));
  await awaitAllCallbacks();
  await settle();
  const runs = await reader.runs.list({ projectNames: [projectName], order: "asc" }).toArray();
  return runs.map(toWireRun);
}

const prompt = ChatPromptTemplate.fromMessages([
  ["system", "Be brief."],
  ["human", "{question}"],
]);

const ask = (model: FakeListChatModel | FakeStreamingChatModel) =>
  prompt
    .pipe(model)
    .pipe(new StringOutputParser())
    .withConfig({
      runName: "ask",
      tags: ["outer"],
      metadata: { plan: { tier: 2 }, note: "\u{1F600} <b>" },
    });

/** Name, parent's name and type of each run. */
const treeOf = (runs: readonly WireRun[]) => {
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  return runs
    .toSorted((a, b) => ((a.dotted_order ?? "") < (b.dotted_order ?? "") ? -1 : 1))
    .map((run) => [run.name, names.get(run.parent_run_id ?? "") ?? null, run.run_type]);
};

const named = (runs: readonly WireRun[], name: string): WireRun => {
  const found = runs.find((run) => run.name === name);
  expect(found).toBeDefined();
  return found!;
};

/** A message in LangChain's serialized form. */
const lcMessage = (name: string, kwargs: object): unknown =>
  expect.objectContaining({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", name],
    kwargs: expect.objectContaining(kwargs) as unknown,
  }) as unknown;

describe.each(senders)("a LangChainTracer with a client of %s", (_, createSender) => {
  test("traces a chain of prompt, model and parser, messages and all", async () => {
    const model = new FakeListChatModel({ responses: ["Rain."] });
    const runs = await traced(createSender, async (tracer) => {
      const answer = await ask(model).invoke({ question: "Weather?" }, { callbacks: [tracer] });
      expect(answer).toBe("Rain.");
    });
    expect(treeOf(runs)).toEqual([
      ["ask", null, "chain"],
      ["ChatPromptTemplate", "ask", "prompt"],
      ["FakeListChatModel", "ask", "llm"],
      ["StrOutputParser", "ask", "parser"],
    ]);
    const outer = named(runs, "ask");
    expect(outer).toMatchObject({
      trace_id: outer.id,
      inputs: { question: "Weather?" },
      outputs: { output: "Rain." },
      error: null,
    });
    expect(outer.tags).toContain("outer");
    expect(outer.extra?.["metadata"]).toMatchObject({ plan: { tier: 2 }, note: "\u{1F600} <b>" });
    expect(runs.every(({ trace_id, end_time }) => trace_id === outer.id && end_time !== null)).toBe(
      true,
    );
    const llm = named(runs, "FakeListChatModel");
    expect(llm.inputs).toEqual({
      messages: [
        [
          lcMessage("SystemMessage", { content: "Be brief." }),
          lcMessage("HumanMessage", { content: "Weather?" }),
        ],
      ],
    });
    expect(llm.outputs).toMatchObject({
      generations: [[{ text: "Rain.", message: lcMessage("AIMessage", { content: "Rain." }) }]],
    });
    expect(llm.extra?.["metadata"]).toMatchObject({ plan: { tier: 2 } });
  });

  test("traces a stream, with its tokens and what it ended with", async () => {
    const model = new FakeStreamingChatModel({
      chunks: ["Ra", "in."].map((content) => new AIMessageChunk({ content })),
    });
    const chunks: string[] = [];
    const runs = await traced(createSender, async (tracer) => {
      const stream = await ask(model).stream({ question: "Weather?" }, { callbacks: [tracer] });
      for await (const chunk of stream) {
        chunks.push(chunk);
      }
    });
    expect(chunks.join("")).toBe("Rain.");
    expect(named(runs, "ask")).toMatchObject({
      inputs: { question: "Weather?" },
      outputs: { output: "Rain." },
    });
    const llm = named(runs, "FakeStreamingChatModel");
    expect(llm.outputs).toMatchObject({ generations: [[{ text: "Rain." }]] });
    const events = llm.events as readonly { readonly name: string }[];
    expect(events.map(({ name }) => name)).toContain("new_token");
  });

  test("traces failures with their error, up to the root", async () => {
    const broken = RunnableLambda.from((_answer: string) => {
      throw new TypeError("no umbrella");
    }).withConfig({ runName: "broken" });
    const runs = await traced(createSender, async (tracer) => {
      const chain = ask(new FakeListChatModel({ responses: ["Rain."] })).pipe(broken);
      const config = { runName: "outermost", callbacks: [tracer] };
      await expect(chain.invoke({ question: "Weather?" }, config)).rejects.toThrow("no umbrella");
    });
    for (const name of ["outermost", "broken"]) {
      expect(named(runs, name).error).toContain("no umbrella");
    }
    expect(named(runs, "ask").error).toBeNull();
  });

  test("keeps concurrent traces separate", async () => {
    const questions = Array.from({ length: 20 }, (_none, index) => `question ${index}`);
    const runs = await traced(createSender, async (tracer) => {
      const chain = ask(new FakeListChatModel({ responses: ["Rain."] }));
      await chain.batch(
        questions.map((question) => ({ question })),
        { callbacks: [tracer] },
      );
    });
    const roots = runs.filter(({ parent_run_id }) => parent_run_id === null);
    const recorded = new Set(roots.map(({ inputs }) => inputs?.["question"]));
    expect(recorded).toEqual(new Set(questions));
    expect(roots).toHaveLength(questions.length);
    for (const root of roots) {
      const trace = runs.filter(({ trace_id }) => trace_id === root.id);
      expect(treeOf(trace)).toHaveLength(4);
      const llm = named(trace, "FakeListChatModel");
      expect(JSON.stringify(llm.inputs)).toContain(`"${String(root.inputs?.["question"])}"`);
    }
  });
});
