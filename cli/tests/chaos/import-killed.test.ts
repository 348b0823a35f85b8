import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "millrace";
import { expect, test } from "vitest";
import { ended, start } from "../support/command.ts";
import type { FakeApi } from "../support/fake-api.ts";
import { publicKey, secretKey, startFakeLangfuse } from "../support/fake-langfuse.ts";
import { apiKey, startFakeLangsmith } from "../support/fake-langsmith.ts";
import { moments, startKillingProxy } from "../support/killing-proxy.ts";
import { createContent as createLangfuseContent } from "../support/langfuse-content.ts";
import { createContent as createLangsmithContent } from "../support/langsmith-content.ts";
import { useOwnServers } from "../support/own-servers.ts";

const servers = useOwnServers();
const kills = 8;
const more = 600;

/** A generator of random numbers that yields the same sequence in every test run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Requests that write: examples, runs, feedback, datasets, projects, prompts, commits and tags. */
const writes = /^\/(?!runs\/query)/;

/** Starts an import repeatedly. It is killed at a request to one of the two servers each time, and then allowed to finish. */
async function importKilled(
  product: "langsmith" | "langfuse",
  source: FakeApi,
  target: { readonly url: string; readonly folder: string },
): Promise<string> {
  const proxy = await startKillingProxy(target.url, writes);
  const random = seeded(product.length);
  const checkpoint = join(target.folder, "checkpoint.json");
  const begin = () =>
    start(
      ["import", "--from", product, "--from-url", source.url, "--checkpoint", checkpoint],
      {
        MILLRACE_ENDPOINT: proxy.url,
        LANGSMITH_API_KEY: apiKey,
        LANGFUSE_PUBLIC_KEY: publicKey,
        LANGFUSE_SECRET_KEY: secretKey,
      },
      target.folder,
    );
  for (let round = 0; round < kills; round++) {
    const child = begin();
    const closed = once(child, "close");
    const kill = () => void child.kill("SIGKILL");
    if (round % 3 === 2) {
      // Reading begins with about ten requests that check the server and list what there is.
      let left = 10 + random(10);
      source.intercept = () => {
        left -= 1;
        if (left === 0) {
          kill();
        }
        return undefined;
      };
    } else {
      const moment = moments[random(moments.length)] ?? "before its response";
      proxy.arm({ request: 1 + random(6), moment, kill });
    }
    const [, signal] = (await closed) as [number | null, string | null];
    expect({ round, signal }).toEqual({ round, signal: "SIGKILL" });
    proxy.arm(undefined);
    source.intercept = undefined;
  }
  expect(existsSync(checkpoint)).toBe(true);
  const { code, output, errors } = await ended(begin());
  expect({ code, errors }).toEqual({
    code: 3,
    errors: expect.stringContaining("continuing the import") as unknown,
  });
  expect(readdirSync(target.folder)).toEqual([]);
  return output;
}

/** Asserts that a list has as many rows as expected, with different ids. */
async function expectEachOnce(
  rows: AsyncIterable<{ readonly id: string }>,
  count: number,
): Promise<void> {
  const ids: string[] = [];
  for await (const { id } of rows) {
    ids.push(id);
  }
  expect(ids).toHaveLength(count);
  expect(new Set(ids).size).toBe(count);
}

const listRuns = (client: Client, projectName: string) =>
  client.runs.list({ projectNames: [projectName] });

test(
  "an import from LangSmith, killed eight times, imports every row once",
  { timeout: 240_000 },
  async () => {
    const source = await startFakeLangsmith(createLangsmithContent(more));
    const target = await servers.start();
    const output = await importKilled("langsmith", source, target);
    expect(output).toMatch(/^projects: /);
    const { client } = target;
    await expectEachOnce(listRuns(client, "support"), more + 2);
    await expectEachOnce(listRuns(client, "questions-1"), 1);
    await expectEachOnce(client.examples.list({ datasetName: "questions" }), more + 1);
    await expectEachOnce(client.feedback.list({}), more + 2);
    await expectEachOnce(client.projects.list({}), 2);
    expect((await client.prompts.listCommits("greeting").toArray()).length).toBe(2);
    expect((await client.prompts.listTags("greeting")).map(({ name }) => name)).toEqual(["prod"]);
  },
);

test(
  "an import from Langfuse, killed eight times, imports every row once",
  { timeout: 240_000 },
  async () => {
    const source = await startFakeLangfuse(createLangfuseContent(more));
    const target = await servers.start();
    await importKilled("langfuse", source, target);
    const { client } = target;
    await expectEachOnce(listRuns(client, "support"), 10 + 2 * more);
    await expectEachOnce(client.examples.list({ datasetName: "questions" }), 2);
    await expectEachOnce(client.feedback.list({}), 3);
    expect((await client.prompts.listCommits("support-greeting").toArray()).length).toBe(2);
    expect((await client.prompts.listTags("support-greeting")).map(({ name }) => name)).toEqual([
      "production",
    ]);
  },
);
