import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { readStory } from "./stored-story.ts";
import type { StoredStory } from "./stored-story.ts";

const run = promisify(execFile);

/** What a program printed and stored. */
export interface Performance extends StoredStory {
  readonly output: readonly string[];
  /** What recorded the runs. */
  readonly recorders: readonly unknown[];
}

/** Lines that say where something is found, in words of the package's own. */
const ownLines = /^(Starting|View results|Evaluated \d+ rows|You can view|http)/;

/** Runs a program with a package in place of langsmith, with a server of its own. */
export async function perform(program: URL, packageName: string): Promise<Performance> {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  try {
    const { stdout } = await run(
      process.execPath,
      [
        "--import",
        "tsx",
        "--import",
        new URL("replace-langsmith.mjs", import.meta.url).href,
        fileURLToPath(program),
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
    const recorders = new Set<unknown>();
    for await (const { id } of client.projects.list()) {
      for await (const { extra } of client.runs.list({ projectIds: [id] })) {
        recorders.add(extra?.runtime?.["sdk"]);
      }
    }
    await client.close();
    return {
      recorders: [...recorders],
      output: stdout.split("\n").filter((line) => !ownLines.test(line)),
      ...story,
    };
  } finally {
    await server.close();
  }
}
