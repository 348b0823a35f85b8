import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { RunnableLambda, RunnablePassthrough } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { afterEach, describe, expect, test } from "vitest";
import { toRunnableConfig } from "../../src/integrations/langchain/index.ts";
import { Client, currentRun, RunTree, traceable, withRun } from "../../src/main/index.ts";
import type { RunExtra } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

afterEach(async () => {
  await awaitAllCallbacks();
});

const double = RunnableLambda.from((n: number) => n * 2).withConfig({ runName: "double" });

describe("toRunnableConfig", () => {
  test("carries the run's tags and metadata, and the client's recursion limit", async () => {
    const run = new RunTree({
      client: new CollectingClient(),
      tags: ["a"],
      metadata: { m: 1 },
      threadId: "t",
    });
    const { callbacks, ...config } = toRunnableConfig(run);
    expect(config).toEqual({
      tags: ["a"],
      metadata: { m: 1, thread_id: "t" },
      recursionLimit: 25,
    });
    expect(callbacks).toHaveLength(1);
    const client = new Client({ recursionLimit: 7 });
    expect(toRunnableConfig(new RunTree({ client })).recursionLimit).toBe(7);
    await client.close();
  });

  test("says what it needs if it gets no run", () => {
    expect(() => toRunnableConfig({ name: "no run" } as never)).toThrow(
      "toRunnableConfig needs a run, such as the one that client.startRun returns",
    );
  });

  test("nests a chain below a run that is not the current one, each run once", async () => {
    const collector = new CollectingClient();
    const root = new RunTree({ client: collector, name: "root" });
    const chain = double.pipe(double).withConfig({ runName: "chain" });
    await expect(chain.invoke(3, toRunnableConfig(root))).resolves.toBe(12);
    const outer = collector.createdRun("chain");
    expect(outer).toMatchObject({
      parent_run_id: root.id,
      trace_id: root.id,
      inputs: { input: 3 },
      run_type: "chain",
    });
    expect(collector.created).toHaveLength(3);
    expect(
      collector.created.slice(1).every(({ parent_run_id }) => parent_run_id === outer.id),
    ).toBe(true);
    expect(collector.updated.find(({ id }) => id === outer.id)).toMatchObject({
      outputs: { output: 12 },
    });
  });

  test("inside the run from which it was created, records no run twice", async () => {
    const collector = new CollectingClient();
    const root = new RunTree({ client: collector, name: "root" });
    await withRun(root, async () => await double.invoke(3, toRunnableConfig(root)));
    await awaitAllCallbacks();
    expect(collector.createdRun("double").parent_run_id).toBe(root.id);
    expect(collector.created).toHaveLength(1);
  });

  test("nests Millrace runs within the chain, and the chain's within Millrace runs", async () => {
    const collector = new CollectingClient();
    const root = new RunTree({ client: collector, name: "root" });
    const millraceFunction = traceable(async (n: number) => await double.invoke(n), {
      name: "ours",
    });
    const chain = RunnableLambda.from(async (n: number) => [
      currentRun()?.name,
      await millraceFunction(n),
    ]).withConfig({
      runName: "chain",
    });
    await expect(chain.invoke(1, toRunnableConfig(root))).resolves.toEqual(["chain", 2]);
    expect(collector.start("ours").parentRunId).toBe(collector.createdRun("chain").id);
    expect(collector.createdRun("double").parent_run_id).toBe(collector.start("ours").id);
  });

  test("records models, tools and failures", async () => {
    const collector = new CollectingClient();
    const config = toRunnableConfig(new RunTree({ client: collector }));
    await new FakeListChatModel({ responses: ["hello"] }).invoke("hi", config);
    await tool(() => "42", { name: "lookup", description: "", schema: { type: "object" } }).invoke(
      {},
      config,
    );
    const broken = RunnableLambda.from(() => {
      throw new Error("mine");
    }).withConfig({ runName: "broken" });
    await expect(broken.invoke(1, config)).rejects.toThrow("mine");
    expect(collector.createdRun("FakeListChatModel")).toMatchObject({ run_type: "llm" });
    expect(collector.createdRun("lookup")).toMatchObject({ run_type: "tool" });
    const outputs = (name: string) => collector.updated.find((patch) => patch.name === name);
    expect(JSON.stringify(outputs("FakeListChatModel")?.outputs)).toContain("hello");
    expect(JSON.stringify(outputs("lookup")?.outputs)).toContain("42");
    expect(outputs("broken")?.error).toContain("Error: mine");
  });

  test("records a streamed chain with the inputs known at its end", async () => {
    const collector = new CollectingClient();
    const chain = RunnablePassthrough.assign({ two: () => 2 }).withConfig({ runName: "chain" });
    const chunks: unknown[] = [];
    for await (const chunk of await chain.stream(
      { one: 1 },
      toRunnableConfig(new RunTree({ client: collector })),
    )) {
      chunks.push(chunk);
    }
    expect(chunks.length).toBeGreaterThan(0);
    const run = collector.createdRun("chain");
    const last = { ...run, ...collector.updated.find(({ id }) => id === run.id) };
    expect(last.inputs).toEqual({ one: 1 });
    expect(last.end_time).toEqual(expect.any(String));
  });

  test("records the tokens of a streaming model as events", async () => {
    const collector = new CollectingClient();
    const model = new FakeListChatModel({ responses: ["ab"] });
    for await (const _ of await model.stream(
      "hi",
      toRunnableConfig(new RunTree({ client: collector })),
    )) {
      expect(collector.created).toHaveLength(1);
    }
    const tokens = collector.updated[0]?.events as { name: string; kwargs: { token: string } }[];
    expect(tokens.map(({ name, kwargs }) => [name, kwargs.token])).toEqual([
      ["new_token", "a"],
      ["new_token", "b"],
    ]);
  });

  test("keeps no reference to an ended Millrace run, however long the config is used", async () => {
    const collector = new CollectingClient();
    const config = toRunnableConfig(new RunTree({ client: collector }));
    const millraceFunction = traceable(async (n: number) => await double.invoke(n), {
      name: "ours",
    });
    const chain = RunnableLambda.from(async (n: number) => await millraceFunction(n));
    for (let count = 0; count < 600; count += 1) {
      await chain.invoke(count, config);
    }
    const [handler] = config.callbacks as { readonly rememberedRunCount: number }[];
    expect(handler?.rememberedRunCount).toBeLessThan(300);
  });
});

test("a stream that is left leaves LangChain's run open, and ends the Millrace run around it", async () => {
  const collector = new CollectingClient();
  const model = new FakeListChatModel({ responses: ["abc"] });
  const answer = traceable(
    async function* answerInPieces() {
      yield* await model.stream("hi");
    },
    { name: "answer", client: collector },
  );
  for await (const _ of answer()) {
    break;
  }
  await awaitAllCallbacks();
  // docs/langchain.md says so. If a version of LangChain reports the end, the section there is wrong.
  expect(collector.createdRun("FakeListChatModel").end_time).toBeUndefined();
  expect(collector.updated).toEqual([]);
  expect(collector.end("answer").metadata).toEqual({ millrace_cancelled: true });
});

describe("LangChain runs inside a Millrace run with a thread and a user", () => {
  const ids = { thread_id: "chat-1", user_id: "u1" };
  const idsOf = ({ extra }: { readonly extra?: RunExtra | undefined }) => ({
    thread_id: extra?.metadata?.["thread_id"],
    user_id: extra?.metadata?.["user_id"],
  });
  const startTurn = (client: CollectingClient) =>
    new RunTree({ client, name: "turn", threadId: "chat-1", userId: "u1" });

  test("have both, also models and runs whose call passes metadata of its own", async () => {
    const collector = new CollectingClient();
    const model = new FakeListChatModel({ responses: ["hello"] });
    const chain = RunnableLambda.from(async () => {
      await model.invoke("hi", { metadata: { m: 1 } });
      return 1;
    }).withConfig({ runName: "chain", metadata: { n: 2 } });
    await withRun(startTurn(collector), async () => {
      await double.invoke(1);
      await chain.invoke(1);
    });
    await awaitAllCallbacks();
    expect(collector.created.map(({ name }) => name)).toEqual([
      "double",
      "chain",
      "FakeListChatModel",
    ]);
    for (const run of [...collector.created, ...collector.updated]) {
      expect(idsOf(run)).toEqual(ids);
    }
    expect(collector.createdRun("chain").extra?.metadata).toMatchObject({ n: 2 });
    expect(collector.createdRun("FakeListChatModel").extra?.metadata).toMatchObject({ m: 1 });
  });

  test("keep their own, also from configurable, and pass them on", async () => {
    const collector = new CollectingClient();
    const ours = traceable(async (n: number) => await double.invoke(n, { metadata: { m: 1 } }), {
      name: "ours",
    });
    const chain = RunnableLambda.from(async (n: number) => await ours(n));
    await withRun(startTurn(collector), async () => {
      await chain.invoke(1, { runName: "a", metadata: { thread_id: "own" } });
      await double.invoke(1, { runName: "b", configurable: { thread_id: "own" } });
      await chain.invoke(1, { runName: "c" });
    });
    await awaitAllCallbacks();
    expect(collector.created.map((run) => [run.name, idsOf(run).thread_id])).toEqual([
      ["a", "own"],
      ["double", "own"],
      ["b", "own"],
      ["c", "chat-1"],
      ["double", "chat-1"],
    ]);
    expect(collector.starts().map(({ metadata }) => metadata)).toMatchObject([
      ids,
      { thread_id: "own", user_id: "u1" },
      ids,
    ]);
  });

  test("have those of the Millrace run that is nearest", async () => {
    const collector = new CollectingClient();
    const call = async (n: number) => await double.invoke(n, { metadata: { m: 1 } });
    const chain = RunnableLambda.from(async (n: number) => {
      await traceable(call, { name: "ours", threadId: "inner" })(n);
      return await call(n);
    });
    await withRun(startTurn(collector), async () => await chain.invoke(1));
    await withRun(new RunTree({ client: collector, name: "no thread" }), async () => {
      await chain.invoke(1);
    });
    await awaitAllCallbacks();
    expect(
      collector.created.filter(({ name }) => name === "double").map((run) => idsOf(run).thread_id),
    ).toEqual(["inner", "chat-1", "inner", undefined]);
  });

  test("are recorded by the client itself, which Millrace runs inside them have", async () => {
    const collector = new CollectingClient();
    let client: unknown;
    const chain = RunnableLambda.from(() => {
      client = currentRun()?.client;
      return 1;
    });
    await withRun(startTurn(collector), async () => await chain.invoke(1));
    expect(client).toBe(collector);
  });
});
