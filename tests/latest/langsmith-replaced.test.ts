import { expect, test } from "vitest";
import { perform } from "../../langsmith/tests/perform.ts";

test("LangChain and LangGraph record the same with @millrace/langsmith in place of their langsmith", async () => {
  const program = new URL("langgraph-program.ts", import.meta.url);
  const [moved, real] = await Promise.all(
    ["@millrace/langsmith", "langsmith"].map((name) => perform(program, name)),
  );
  expect(real?.projects).not.toEqual([]);
  const recorders: unknown = expect.arrayContaining(["millrace"]);
  expect(moved).toEqual({ ...real, recorders });
}, 60_000);
