import { expect, test } from "vitest";
import { startRun, withRun } from "../../src/tracing/runs/context.ts";
import {
  enterModelCall,
  isInModelCall,
  markModelCall,
} from "../../src/tracing/runs/model-calls.ts";
import { CollectingClient } from "./collecting-client.ts";

test("a marked run owns the model call only while it is the current run", () => {
  const client = new CollectingClient();
  const call = startRun(client, { runType: "llm" });
  expect(withRun(call, isInModelCall)).toBe(false);
  markModelCall(call);
  expect(isInModelCall()).toBe(false);
  withRun(call, () => {
    expect(isInModelCall()).toBe(true);
    const tool = startRun(client, { runType: "tool" });
    expect(withRun(tool, isInModelCall)).toBe(false);
    expect(isInModelCall()).toBe(true);
  });
});

test("a call that is entered is owned until its run ends, and not by callers", async () => {
  const client = new CollectingClient();
  const seen: boolean[] = [];
  const call = async (): Promise<void> => {
    await Promise.resolve();
    const run = startRun(client, { runType: "embedding" });
    enterModelCall(run);
    await Promise.resolve();
    seen.push(isInModelCall());
    run.end();
    seen.push(isInModelCall());
  };
  const called = call();
  await Promise.resolve();
  seen.push(isInModelCall());
  await called;
  expect(seen).toEqual([false, true, false]);
});
