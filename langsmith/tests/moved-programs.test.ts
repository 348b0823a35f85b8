import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, test } from "vitest";
import { readStory } from "./stored-story.ts";
import type { StoredStory } from "./stored-story.ts";

const run = promisify(execFile);

/** What a program printed and stored. */
interface Performance extends StoredStory {
  readonly output: readonly string[];
}

/** Lines that say where something is found, in words of the package's own. */
const ownLines = /^(Starting|View results|Evaluated \d+ rows|You can view|http)/;

/** Runs a program with a package in place of langsmith, with a server of its own. */
async function perform(program: string, packageName: string): Promise<Performance> {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  try {
    const { stdout } = await run(
      process.execPath,
      [
        "--import",
        "tsx",
        "--import",
        new URL("replace-langsmith.mjs", import.meta.url).href,
        fileURLToPath(new URL(`programs/${program}.ts`, import.meta.url)),
      ],
      {
        env: {
          PATH: process.env["PATH"],
          LANGSMITH_PACKAGE: packageName,
          LANGSMITH_ENDPOINT: server.url,
          LANGSMITH_API_KEY: "none",
          LANGSMITH_TRACING: "true",
          LANGSMITH_PROJECT: "moving",
          LANGCHAIN_CALLBACKS_BACKGROUND: "false",
        },
      },
    );
    const client = new Client({ endpoint: server.url });
    const story = await readStory(client);
    await client.close();
    return { output: stdout.split("\n").filter((line) => !ownLines.test(line)), ...story };
  } finally {
    await server.close();
  }
}

test.each(["run-tree", "streams", "evaluation"])(
  "the program %s prints and stores the same with @millrace/langsmith as with langsmith 0.10 and 0.12",
  async (program) => {
    const [moved, today, newest] = await Promise.all(
      ["@millrace/langsmith", "langsmith", "langsmith-0.12"].map((name) => perform(program, name)),
    );
    expect(today?.projects).not.toEqual([]);
    expect(moved).toEqual(today);
    expect(moved).toEqual(newest);
  },
  120_000,
);
