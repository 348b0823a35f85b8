import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { getContextVariable, setContextVariable } from "@langchain/core/context";
import { RunnableLambda, RunnablePassthrough } from "@langchain/core/runnables";
import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { afterEach, describe, expect, test } from "vitest";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { LangchainHandler, toRunnableConfig } from "../../src/tracing/runs/langchain-handler.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

afterEach(async () => {
  await awaitAllCallbacks();
});

const double = RunnableLambda.from((n: number) => n * 2).withConfig({ runName: "double" });

describe("a LangChain runnable inside a Millrace run", () => {
  test("nests below it without configuration, recorded by our client", async () => {
    const collector = new CollectingClient();
    const root = startRun(collector, { name: "root", projectName: "mill" });
    const chain = double.pipe(double).withConfig({ runName: "chain" });
    await expect(withRun(root, async () => await chain.invoke(3))).resolves.toBe(12);
    await awaitAllCallbacks();
    const outer = collector.createdRun("chain");
    expect(outer).toMatchObject({
      parent_run_id: root.id,
      trace_id: root.traceId,
      session_name: "mill",
      inputs: { input: 3 },
    });
    expect(outer.dotted_order?.startsWith(`${root.dottedOrder}.`)).toBe(true);
    const steps = collector.created.filter(({ name }) => name === "double");
    expect(steps.map(({ parent_run_id }) => parent_run_id)).toEqual([outer.id, outer.id]);
    expect(collector.updated).toHaveLength(3);
  });

  test("is the parent of the Millrace run inside it, which is in the same trace", async () => {
    const collector = new CollectingClient();
    const leaf = traceable(async (n: number) => n + 1, { name: "leaf" });
    const chain = RunnableLambda.from(async (n: number) => await leaf(n)).withConfig({
      runName: "chain",
    });
    const root = startRun(collector, { name: "root" });
    await expect(withRun(root, async () => await chain.invoke(1))).resolves.toBe(2);
    await awaitAllCallbacks();
    expect(collector.start("leaf")).toMatchObject({
      parentRunId: collector.createdRun("chain").id,
      traceId: root.id,
    });
  });

  test("passes its config through a Millrace run: tags, metadata, configurable and parent", async () => {
    const collector = new CollectingClient();
    let inside: RunnableConfig | undefined;
    const inner = RunnableLambda.from((_: number, config: RunnableConfig) => {
      inside = config;
      return 1;
    }).withConfig({ runName: "inner" });
    const millraceFunction = traceable(async () => await inner.invoke(1), { name: "ours" });
    const outer = RunnableLambda.from(async () => await millraceFunction()).withConfig({
      runName: "outer",
    });
    await withRun(startRun(collector), async () => {
      await outer.invoke(1, { tags: ["t"], metadata: { m: 1 }, configurable: { thread_id: "x" } });
    });
    await awaitAllCallbacks();
    expect(inside).toMatchObject({ configurable: { thread_id: "x" }, metadata: { m: 1 } });
    expect(collector.start("ours").parentRunId).toBe(collector.createdRun("outer").id);
    const innerRun = collector.createdRun("inner");
    expect(innerRun.parent_run_id).toBe(collector.start("ours").id);
    expect(innerRun.trace_id).toBe(collector.start("ours").traceId);
    expect(innerRun.tags).toContain("t");
  });

  test("context variables pass through a Millrace run", async () => {
    const collector = new CollectingClient();
    const millraceFunction = traceable(() => getContextVariable("color") as string, {
      name: "ours",
      client: collector,
    });
    const outer = RunnableLambda.from(() => {
      setContextVariable("color", "red");
      return millraceFunction();
    });
    await expect(withRun(startRun(collector), async () => await outer.invoke(1))).resolves.toBe(
      "red",
    );
    expect(collector.start("ours").parentRunId).toBeDefined();
  });
});

describe("a Millrace run inside an untraced LangChain runnable", () => {
  test("is a separate trace, and LangChain runnables that it calls nest below it", async () => {
    const collector = new CollectingClient();
    const millraceFunction = traceable(async () => await double.invoke(2), {
      name: "ours",
      client: collector,
    });
    const outer = RunnableLambda.from(async () => await millraceFunction());
    await expect(outer.invoke(1)).resolves.toBe(4);
    await awaitAllCallbacks();
    const run = collector.start("ours");
    expect(run.parentRunId).toBeUndefined();
    expect(collector.createdRun("double")).toMatchObject({
      parent_run_id: run.id,
      trace_id: run.id,
    });
  });

  test("also if the runnable has callbacks without a tracer", async () => {
    const collector = new CollectingClient();
    const millraceFunction = traceable(async () => await double.invoke(2), {
      name: "ours",
      client: collector,
    });
    const outer = RunnableLambda.from(async () => await millraceFunction());
    await outer.invoke(1, { callbacks: [{ handleChainStart: () => {} }] });
    await awaitAllCallbacks();
    const run = collector.start("ours");
    expect(collector.createdRun("double")).toMatchObject({
      parent_run_id: run.id,
      trace_id: run.id,
    });
  });
});

describe("toRunnableConfig", () => {
  test("carries the client's recursion limit, the run's tags and metadata", () => {
    const collector = new CollectingClient({ recursionLimit: 7 });
    const run = startRun(collector, { tags: ["a"], metadata: { m: 1 } });
    expect(toRunnableConfig(run)).toMatchObject({
      recursionLimit: 7,
      tags: ["a"],
      metadata: { m: 1 },
    });
    expect(toRunnableConfig(startRun(new CollectingClient())).recursionLimit).toBe(25);
  });

  test("nests a chain below a run that is not the current one, each run once", async () => {
    const collector = new CollectingClient();
    const root = startRun(collector, { name: "root" });
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
    const root = startRun(collector, { name: "root" });
    await withRun(root, async () => await double.invoke(3, toRunnableConfig(root)));
    await awaitAllCallbacks();
    expect(collector.createdRun("double").parent_run_id).toBe(root.id);
    expect(collector.created).toHaveLength(1);
  });

  test("nests Millrace runs within the chain, and the chain's within Millrace runs", async () => {
    const collector = new CollectingClient();
    const root = startRun(collector, { name: "root" });
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
    const config = toRunnableConfig(startRun(collector));
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
      toRunnableConfig(startRun(collector)),
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
    for await (const _ of await model.stream("hi", toRunnableConfig(startRun(collector)))) {
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
    const handler = new LangchainHandler(startRun(collector));
    const config = { callbacks: [handler] };
    const millraceFunction = traceable(async (n: number) => await double.invoke(n), {
      name: "ours",
    });
    const chain = RunnableLambda.from(async (n: number) => await millraceFunction(n));
    for (let count = 0; count < 600; count += 1) {
      await chain.invoke(count, config);
    }
    expect(handler.rememberedRunCount).toBeLessThan(300);
  });
});
