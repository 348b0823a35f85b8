import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import {
  Annotation,
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { Client as LangsmithClient } from "langsmith";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { runOwnServer, runServer } from "../../server/tests/support/running-server.ts";
import { toRunnableConfig } from "../../src/integrations/langchain/index.ts";
import { Client, currentRun, traceable, withRun } from "../../src/main/index.ts";
import type { Run } from "../../src/main/index.ts";

const lookUp = traceable(async (city: string) => `rain in ${city}`, { name: "look up" });
const weather = tool(async ({ city }: { city: string }) => await lookUp(city), {
  name: "weather",
  description: "the weather",
  schema: z.object({ city: z.string() }),
});
const callOfTool = new AIMessage({
  content: "",
  tool_calls: [{ name: "weather", args: { city: "Bern" }, id: "call_1", type: "tool_call" }],
});

/** An agent: the model calls a tool once, and then answers. */
function createAgent() {
  const model = new FakeStreamingChatModel({ responses: [new AIMessage("It rains.")] });
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => {
      const isAnswered = messages.some((message) => ToolMessage.isInstance(message));
      return { messages: [isAnswered ? await model.invoke(messages) : callOfTool] };
    })
    .addNode("tools", new ToolNode([weather]))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer: new MemorySaver() });
}

const input = { messages: [new HumanMessage("How is the weather in Bern?")] };
const thread = { configurable: { thread_id: "t" } };

/** Runs `work` and returns a line `parent > run` for each run that the server then has, sorted by start. */
async function linesOf(
  work: (client: Client, url: string) => Promise<unknown>,
  startServer = () => runServer(),
): Promise<readonly string[]> {
  const runs = await runsOf(work, startServer);
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  expect(runs.filter(({ endTime }) => endTime === undefined)).toEqual([]);
  expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(1);
  return runs.map(({ name, parentRunId }) =>
    parentRunId === undefined ? name : `${names.get(parentRunId) ?? "missing"} > ${name}`,
  );
}

async function runsOf(
  work: (client: Client, url: string) => Promise<unknown>,
  startServer = () => runServer(),
): Promise<readonly Run[]> {
  const { url } = await startServer();
  const client = new Client({ endpoint: url, projectName: "graphs" });
  await work(client, url);
  await awaitAllCallbacks();
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["graphs"], order: "asc" }).toArray();
  await client.close();
  return runs.toSorted((left, right) =>
    String(left.dottedOrder) < String(right.dottedOrder) ? -1 : 1,
  );
}

/** The runs of the agent below `outer`. Those of the start and of the conditional edge are LangGraph's own. */
const agentLines = (outer: string): readonly string[] => [
  outer,
  `${outer} > LangGraph`,
  "LangGraph > __start__",
  "LangGraph > agent",
  "agent > RunnableLambda",
  "LangGraph > tools",
  "tools > weather",
  "weather > look up",
  "LangGraph > agent",
  "agent > FakeStreamingChatModel",
  "agent > RunnableLambda",
];

describe("a graph of LangGraph", () => {
  test("has the same runs below ours as langsmith records of it alone", async () => {
    const lines = await linesOf(
      async (_, apiUrl) => {
        const peer = new LangsmithClient({ apiUrl, apiKey: "none" });
        const callbacks = [new LangChainTracer({ client: peer, projectName: "graphs" })];
        await createAgent().invoke(input, { callbacks, ...thread });
        await awaitAllCallbacks();
        await peer.awaitPendingTraceBatches();
      },
      () => runOwnServer(),
    );
    expect(lines).toEqual(
      agentLines("answer")
        .map((line) => line.replace("answer > ", ""))
        .slice(1),
    );
  });

  test("nests below the current run, and traced functions below its tools; each run once", async () => {
    const lines = await linesOf(async (client) => {
      const answer = traceable(async () => await createAgent().invoke(input, thread), {
        client,
        name: "answer",
      });
      await answer();
    });
    expect(lines).toEqual(agentLines("answer"));
  });

  test("that is streamed nests the same", async () => {
    const lines = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      await withRun(run, async () => {
        for await (const chunk of await createAgent().stream(input, {
          ...thread,
          streamMode: "updates",
        })) {
          expect(chunk).toBeTypeOf("object");
        }
      });
      run.end();
    });
    expect(lines).toEqual(agentLines("answer"));
  });

  test("nests below a run that is not the current one by toRunnableConfig", async () => {
    const lines = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      await createAgent().invoke(input, { ...toRunnableConfig(run), ...thread });
      run.end();
    });
    expect(lines).toEqual(agentLines("answer"));
  });

  test("doubles nothing by toRunnableConfig within the run, nor by LangChain's tracer with our client", async () => {
    const byConfig = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      const config = { ...toRunnableConfig(run), ...thread };
      await withRun(run, async () => await createAgent().invoke(input, config));
      run.end();
    });
    expect(byConfig).toEqual(agentLines("answer"));
    const byTracer = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      const callbacks = [new LangChainTracer({ client, projectName: "graphs" })];
      await withRun(run, async () => await createAgent().invoke(input, { callbacks, ...thread }));
      run.end();
    });
    expect(byTracer).toEqual(agentLines("answer"));
  });

  test("doubles nothing if LangSmith's tracing is switched on by the environment", async () => {
    vi.stubEnv("LANGSMITH_TRACING", "true");
    const lines = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      await withRun(run, async () => await createAgent().invoke(input, thread));
      run.end();
    });
    expect(lines).toEqual(agentLines("answer"));
  });

  test("within a node nests its own subgraph and a branch beside it, in the node's run", async () => {
    const State = Annotation.Root({
      text: Annotation<string>,
      seen: Annotation<string>,
      side: Annotation<string>,
    });
    const subgraph = new StateGraph(State)
      .addNode("inner", () => ({ seen: currentRun()?.name ?? "none" }))
      .addEdge(START, "inner")
      .compile({ name: "subgraph" });
    const graph = new StateGraph(State)
      .addNode("outer", async (state) => ({ seen: (await subgraph.invoke(state)).seen }))
      .addNode(
        "branch",
        RunnableLambda.from(() => ({ side: "b" })).withConfig({ runName: "lambda" }),
      )
      .addEdge(START, "outer")
      .addEdge(START, "branch")
      .compile({ name: "graph" });
    let result: typeof State.State | undefined;
    const lines = await linesOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      result = await withRun(run, async () => await graph.invoke({ text: "a" }));
      run.end();
    });
    expect(result).toEqual({ text: "a", seen: "inner", side: "b" });
    expect(lines.toSorted()).toEqual([
      "answer",
      "answer > graph",
      "branch > lambda",
      "graph > __start__",
      "graph > branch",
      "graph > outer",
      "outer > subgraph",
      "subgraph > __start__",
      "subgraph > inner",
    ]);
  });

  test("that fails ends each run, the failed ones with the error", async () => {
    const failing = new StateGraph(MessagesAnnotation)
      .addNode("broken", () => {
        throw new Error("no bridge");
      })
      .addEdge(START, "broken")
      .compile();
    const runs = await runsOf(async (client) => {
      const run = client.startRun({ name: "answer" });
      await withRun(run, async () => {
        await expect(failing.invoke(input)).rejects.toThrow("no bridge");
      });
      run.end();
    });
    expect(runs.map(({ name, error }) => [name, error?.includes("no bridge") === true])).toEqual([
      ["answer", false],
      ["LangGraph", true],
      ["__start__", false],
      ["broken", true],
    ]);
  });

  test("has the thread and the user of the run around it", async () => {
    const runs = await runsOf(async (client) => {
      const run = client.startRun({ name: "answer", threadId: "chat", userId: "u1" });
      await withRun(
        run,
        async () => await createAgent().invoke(input, { configurable: { thread_id: "chat" } }),
      );
      run.end();
    });
    expect(runs.map(({ extra }) => extra?.metadata?.["thread_id"])).toEqual(Array(11).fill("chat"));
    expect(runs.map(({ extra }) => extra?.metadata?.["user_id"])).toEqual(Array(11).fill("u1"));
  });
});
