import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import type { LoopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";
import type { ProgramEnd } from "../support/run-program.ts";

const entry = new URL("../../dist/main/index.js", import.meta.url).href;

/** Runs a program in which `millrace` holds all exports of the package. */
const program = (source: string, env: Readonly<Record<string, string>> = {}): Promise<ProgramEnd> =>
  runProgram(`import * as millrace from ${JSON.stringify(entry)};\n${source}`, { env });

const oneCall = `millrace.traceable(function answer() { return 42; })();`;

const sentTo = (server: LoopbackServer): string =>
  server.runRequests.map(({ body }) => body.toString("latin1")).join("");

describe("a program that creates no client", () => {
  test.each([{}, { LANGSMITH_API_KEY: "key", MILLRACE_PROJECT: "p" }])(
    "records nothing, opens no connection and costs almost nothing with %o",
    async (env) => {
      const { code, output } = await program(
        `const next = millrace.traceable((n) => n + 1, { name: "next" });
         const began = process.cpuUsage();
         let sum = 0;
         for (let i = 0; i < 100_000; i++) sum = next(sum);
         const { user, system } = process.cpuUsage(began);
         console.log(sum, (user + system) / 1_000 < 1_000, JSON.stringify(await millrace.flush()));
         console.log(process.getActiveResourcesInfo().filter((kind) => /TCP|Worker|Port|Timeout/.test(kind)).length);`,
        env,
      );
      expect(output).toBe(
        '100000 true {"delivered":0,"pending":0,"lost":0,"runs":{"delivered":0,"pending":0,"lost":0}}\n0\n',
      );
      expect(code).toBe(0);
    },
  );

  test.each(["MILLRACE_ENDPOINT", "LANGSMITH_ENDPOINT"])("records with %s alone", async (name) => {
    await using server = await loopbackServer();
    const { output } = await program(oneCall, { [name]: server.endpoint });
    expect(output).toBe("");
    expect(sentTo(server)).toContain('"name":"answer"');
  });

  test("records with LANGSMITH_TRACING=yes and a bad number, which is named", async () => {
    await using server = await loopbackServer();
    const { output } = await program(oneCall, {
      LANGSMITH_TRACING: "yes",
      MILLRACE_BATCH_LIMIT: "abc",
      MILLRACE_ENDPOINT: server.endpoint,
    });
    expect(output).toContain('MILLRACE_BATCH_LIMIT is "abc"; allowed: a whole number from 1');
    expect(output.split("\n")).toHaveLength(2);
    expect(sentTo(server)).toContain('"name":"answer"');
  });

  test("gets one warning about an invalid tracing variable", async () => {
    const { output } = await program(`${oneCall}${oneCall}`, { LANGSMITH_TRACING: "perhaps" });
    expect(output).toBe(
      '[millrace] LANGSMITH_TRACING is "perhaps"; allowed: true, false, yes, no, on, off, 1 or 0. It is ignored.\n',
    );
  });
});

test("a tracing variable that says false overrides an enabled client", async () => {
  await using server = await loopbackServer();
  const { output } = await program(
    `const client = new Client({ enabled: true, endpoint: ${JSON.stringify(server.endpoint)} });
     ${oneCall}
     await client.close();
     console.log(client.stats().accepted);`,
    { LANGSMITH_TRACING: "Off" },
  );
  expect(output).toBe("0\n");
  expect(server.requests).toHaveLength(0);
});

test("the first client of the program takes over, and nothing that was recorded is lost", async () => {
  await using server = await loopbackServer();
  const { output } = await program(
    `const later = millrace.traceable(function later() {});
     let finish;
     const work = () => new Promise((resolve) => { finish = resolve; });
     const early = millrace.traceable(work, { name: "early" })();
     const client = new Client({ projectName: "own" });
     later();
     finish();
     await early;
     const { pending, lost } = await millrace.flush();
     console.log(pending, lost, client.stats().accepted);`,
    { MILLRACE_ENDPOINT: server.endpoint, MILLRACE_PROJECT: "implicit" },
  );
  expect(output).toBe("0 0 2\n");
  expect(endedRuns(server)).toEqual(["early in implicit", "later in own"]);
});

test("the quick start of the README records what it promises", async () => {
  await using server = await loopbackServer();
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, code = ""] = /## Quick start\n```ts\n(.*?)```/s.exec(readme) ?? [];
  const source = ts.transpile(code, {
    module: ts.ModuleKind.ESNext,
    target: ts.ScriptTarget.ES2023,
  });
  const asInstalled = source.replace(/^import .*"millrace";$/m, "const { traceable } = millrace;");
  expect(asInstalled).not.toBe(source);
  const { output, code: exitCode } = await program(asInstalled, {
    MILLRACE_ENDPOINT: server.endpoint,
  });
  expect(exitCode).toBe(0);
  const [, promised] = /flush\(\)\); \/\/ (\{.*\})/.exec(readme) ?? [];
  expect(output.replaceAll(/\s+/g, " ").trim()).toBe(promised);
  expect(endedRuns(server)).toEqual(["answer in demo", "search in demo"]);
  const [answer, search] = ["answer", "search"].map((name) => runsOf(server).get(name));
  expect(answer).toMatchObject({
    run_type: "chain",
    inputs: { input: "mill wheels" },
    outputs: { text: "a page about mill wheels" },
  });
  expect(search).toMatchObject({
    run_type: "retriever",
    parent_run_id: answer?.["id"],
    inputs: { input: "mill wheels" },
    outputs: { outputs: ["a page about mill wheels"] },
  });
});

type Fields = Readonly<Record<string, unknown>>;

/** What arrived of each run, with start and end merged, by name. */
function runsOf(server: LoopbackServer): ReadonlyMap<string, Fields> {
  const byId = new Map<unknown, Fields>();
  for (const { body } of server.runRequests) {
    const { post = [], patch = [] } = JSON.parse(body.toString()) as Readonly<
      Record<"post" | "patch", readonly Fields[] | undefined>
    >;
    for (const run of [...post, ...patch]) {
      byId.set(run["id"], { ...byId.get(run["id"]), ...run });
    }
  }
  return new Map([...byId.values()].map((run) => [String(run["name"]), run]));
}

const endedRuns = (server: LoopbackServer): readonly string[] =>
  [...runsOf(server).values()]
    .filter(({ end_time: end }) => end !== undefined)
    .map(({ name, session_name: project }) => `${String(name)} in ${String(project)}`)
    .toSorted();
