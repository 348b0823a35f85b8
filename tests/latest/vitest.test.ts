import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openClient } from "../evaluation/evaluation-setup.ts";
import { checkStory } from "../evaluation/vitest-story.ts";

const modules = fileURLToPath(new URL("node_modules", import.meta.url));

test.each(["vitest-3", "vitest-5"])(
  "with %s, a describe is a dataset and an experiment, a test an example, an expectation feedback",
  async (name) => {
    const setup = await openClient();
    // Without vitest's own reporter: that of vitest 5 needs a newer Node than the oldest one that we support.
    await checkStory(setup, {
      vitest: join(modules, name),
      config: 'reporters: ["millrace/vitest/reporter"]',
    });
    expect(await setup.client.datasets.list().toArray()).toHaveLength(2);
  },
);
