import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { getContextVariable, setContextVariable } from "@langchain/core/context";
import { RunnableLambda } from "@langchain/core/runnables";
import type { RunnableConfig } from "@langchain/core/runnables";
import { afterEach, describe, expect, test } from "vitest";
import { startRun, withRun } from "../../src/tracing/runs/context.ts";
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
