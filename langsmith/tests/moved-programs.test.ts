import { expect, test } from "vitest";
import { perform } from "./perform.ts";

test.each(["run-tree", "streams", "evaluation", "model-calls"])(
  "the program %s prints and stores the same with @millrace/langsmith as with langsmith 0.10 and 0.12",
  async (program) => {
    const [moved, today, newest] = await Promise.all(
      ["@millrace/langsmith", "langsmith", "langsmith-0.12"].map((name) =>
        perform(new URL(`programs/${program}.ts`, import.meta.url), name),
      ),
    );
    expect(today?.projects).not.toEqual([]);
    expect(moved).toEqual({ ...today, recorders: ["millrace"] });
    expect(moved).toEqual({ ...newest, recorders: ["millrace"] });
  },
  120_000,
);
