import type { RunnableConfig } from "@langchain/core/runnables";
import type { IncomingHttpHeaders } from "node:http";
import { expectTypeOf, test } from "vitest";
import { withRun } from "../../src/tracing/runs/context.ts";
import { toRunnableConfig } from "../../src/integrations/langchain/index.ts";
import type { RecordedRun, TracingClient } from "../../src/tracing/tape/recorder.ts";
import { RunTree } from "../../src/tracing/runs/run-tree.ts";
declare const run: RunTree;
declare const client: TracingClient;
declare const incoming: IncomingHttpHeaders;

test("a run is what the recorder reads", () => {
  expectTypeOf<RunTree>().toExtend<RecordedRun>();
});

test("headers of every make are taken", () => {
  expectTypeOf(RunTree.fromHeaders(incoming, { client })).toEqualTypeOf<RunTree | undefined>();
  expectTypeOf(RunTree.fromHeaders(new Headers(), { client })).toEqualTypeOf<RunTree | undefined>();
  expectTypeOf(RunTree.fromHeaders(new Map([["a", "b"]]), { client })).toEqualTypeOf<
    RunTree | undefined
  >();
});

test("what is handed out can't be written", () => {
  expectTypeOf(run.tags).toEqualTypeOf<readonly string[] | undefined>();
  // @ts-expect-error read only
  run.id = "other";
  // @ts-expect-error read only
  run.tags = [];
  // @ts-expect-error read only
  run.startChild({}).name = "other";
});

test("options that no run has are refused", () => {
  // @ts-expect-error no such option
  run.startChild({ nme: "typo" });
  // @ts-expect-error no such run type
  run.startChild({ runType: "model" });
  expectTypeOf(run.startChild({})).toEqualTypeOf<RunTree>();
});

test("withRun answers what the function does", () => {
  expectTypeOf(withRun(run, () => 1)).toEqualTypeOf<number>();
  expectTypeOf(withRun(run, async () => "a")).toEqualTypeOf<Promise<string>>();
});

test("a runnable config is one of LangChain's", () => {
  expectTypeOf(toRunnableConfig(run)).toExtend<RunnableConfig>();
});
