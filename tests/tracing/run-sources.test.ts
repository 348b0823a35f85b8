import { AsyncLocalStorage } from "node:async_hooks";
import { expect, onTestFinished, test } from "vitest";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { addRunSource } from "../../src/tracing/runs/run-sources.ts";
import type { RunTree } from "../../src/tracing/runs/run-tree.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = new CollectingClient();

/** The context of another library, which is a source of the current run until the test ends. */
function addContext(): AsyncLocalStorage<RunTree | undefined> {
  const context = new AsyncLocalStorage<RunTree | undefined>();
  onTestFinished(addRunSource(() => context.getStore()));
  return context;
}

test("a source's run is the current one inside of that library's work, and the parent of new runs", async () => {
  const context = addContext();
  const outer = startRun(client, { name: "outer" });
  const theirs = outer.startChild({ name: "theirs" });
  await withRun(outer, async () => {
    await context.run(theirs, async () => {
      await Promise.resolve();
      expect(currentRun()).toBe(theirs);
      expect(startRun(client).parentRunId).toBe(theirs.id);
    });
    expect(currentRun()).toBe(outer);
  });
  expect(currentRun()).toBeUndefined();
  context.run(theirs, () => {
    expect(currentRun()).toBe(theirs);
  });
});

test("withRun inside of that work takes precedence, also for a run that is not below it", () => {
  const context = addContext();
  const outer = startRun(client, { name: "outer" });
  const theirs = outer.startChild({ name: "theirs" });
  const inner = theirs.startChild({ name: "inner" });
  const nested = inner.startChild({ name: "nested" });
  withRun(outer, () => {
    context.run(theirs, () => {
      withRun(outer, () => {
        expect(currentRun()).toBe(outer);
      });
      withRun(inner, () => {
        expect(currentRun()).toBe(inner);
        context.run(nested, () => {
          expect(currentRun()).toBe(nested);
        });
        context.run(outer, () => {
          expect(currentRun()).toBe(inner);
        });
      });
      withRun(startRun(client, { parent: null, name: "other trace" }), () => {
        expect(currentRun()?.name).toBe("other trace");
      });
    });
  });
});

test("a source that throws, returns something else or is removed changes nothing", () => {
  const run = startRun(client, { name: "run" });
  const remove = [
    addRunSource(() => {
      throw new Error("no context");
    }),
    addRunSource(() => ({ id: run.id }) as never),
    addRunSource(() => run),
  ];
  expect(currentRun()).toBe(run);
  for (const each of remove) {
    each();
    each();
  }
  expect(currentRun()).toBeUndefined();
});
