import { RunnableLambda } from "@langchain/core/runnables";
import { expect, test } from "vitest";
import { RunTree, toRunnableConfig, withRun } from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

test("a runnable of the newest core is a child of the current run", async () => {
  const client = new CollectingClient();
  const count = RunnableLambda.from((text: string) => text.length).withConfig({
    runName: "count",
  });
  const outer = new RunTree({ client, name: "outer" });
  const length = await withRun(outer, () => count.invoke("four", toRunnableConfig(outer)));
  outer.end();
  expect(length).toBe(4);
  expect(client.createdRun("count").parent_run_id).toBe(outer.id);
});
