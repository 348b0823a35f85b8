import { describe, expect, test } from "vitest";
import { startRun, withRun } from "../../src/tracing/runs/context.ts";
import { RunTree } from "../../src/tracing/runs/new-run-tree.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

describe("threadId and userId", () => {
  test("are the metadata thread_id and user_id of the run and of all runs below it", () => {
    const client = new CollectingClient();
    const answer = traceable(() => inner(), { client, threadId: "t", userId: "u" });
    const inner = traceable(() => undefined, { client, name: "inner", metadata: { own: 1 } });
    answer();
    const run = startRun(client, { name: "started", threadId: "s" });
    run.startChild({ name: "child" }).startChild({ name: "grandchild", userId: "v" });
    withRun(run, () => new RunTree({ client, name: "current" }));
    expect(client.starts().map(({ name, metadata }) => [name, metadata])).toEqual([
      ["answer", { thread_id: "t", user_id: "u" }],
      ["inner", { thread_id: "t", user_id: "u", own: 1 }],
      ["started", { thread_id: "s" }],
      ["child", { thread_id: "s" }],
      ["grandchild", { thread_id: "s", user_id: "v" }],
      ["current", { thread_id: "s" }],
    ]);
  });

  test("take precedence over the parent's and over own metadata; inherited ones do not", () => {
    const client = new CollectingClient();
    const run = startRun(client, { threadId: "t", metadata: { thread_id: "m", other: 1 } });
    run.startChild({ name: "child", threadId: "c" }).startChild({ name: "grandchild" });
    run.startChild({ name: "own", metadata: { thread_id: "o" } });
    expect(client.starts().map(({ metadata }) => metadata)).toEqual([
      { thread_id: "t", other: 1 },
      { thread_id: "c" },
      { thread_id: "c" },
      { thread_id: "o" },
    ]);
  });

  test("cross processes with the run, as its other metadata does", () => {
    const client = new CollectingClient();
    const run = startRun(client, { name: "caller", threadId: "t", userId: "u" });
    const remote = RunTree.fromHeaders(run.toHeaders(), { client });
    const below = remote?.startChild({ name: "below", userId: "v" });
    below?.startChild({ name: "deep" });
    expect(client.start("below").metadata).toEqual({ thread_id: "t", user_id: "v" });
    expect(client.start("deep").metadata).toEqual({ thread_id: "t", user_id: "v" });
  });

  test.each([[""], [7], [{}], [null]])(
    "that are %j are not recorded, with a warning unless null",
    (bad) => {
      const client = new CollectingClient();
      startRun(client, { threadId: bad as string, userId: "u" });
      expect(client.starts()[0]?.metadata).toEqual({ user_id: "u" });
      expect(client.warnings.map(({ kind, message }) => `${kind}: ${message}`)).toEqual(
        bad === null
          ? []
          : [
              "invalidOption: The option threadId must be a text that is not empty; it was ignored.",
            ],
      );
    },
  );

  test("are kept if the run's metadata can't be read", () => {
    const client = new CollectingClient();
    const metadata = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("unreadable");
        },
      },
    );
    startRun(client, { name: "run", threadId: "t", metadata });
    expect(client.start("run").metadata).toMatchObject({ thread_id: "t" });
    expect(client.start("run").metadata).toHaveProperty("millrace_error");
  });
});

test("referenceExampleId of a traced function is that of its runs, not of those below", () => {
  const client = new CollectingClient();
  const referenceExampleId = "0192d4c0-0000-7000-8000-000000000001";
  const inner = traceable(() => undefined, { client, name: "inner" });
  traceable(() => inner(), { client, name: "outer", referenceExampleId })();
  expect(client.start("outer").referenceExampleId).toBe(referenceExampleId);
  expect(client.start("inner").referenceExampleId).toBeUndefined();
});
