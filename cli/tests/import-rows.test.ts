import { expect, test } from "vitest";
import { createLangfuseSource } from "../src/imports/langfuse/langfuse-source.ts";
import { createLangsmithSource } from "../src/imports/langsmith/langsmith-source.ts";
import { importKinds } from "../src/imports/model/import-source.ts";
import type { ImportSource } from "../src/imports/model/import-source.ts";
import { Tally } from "../src/imports/model/tally.ts";
import { SourceClient } from "../src/imports/source/source-client.ts";
import type { SourceLimits } from "../src/imports/source/source-client.ts";
import type { ImportSettings } from "../src/imports/target/import-settings.ts";
import { ImportTarget } from "../src/imports/target/import-target.ts";
import {
  createObservation,
  createTrace,
  publicKey,
  secretKey,
  startFakeLangfuse,
} from "./support/fake-langfuse.ts";
import { apiKey, startFakeLangsmith } from "./support/fake-langsmith.ts";
import { createContent as createLangfuseContent } from "./support/langfuse-content.ts";
import { createContent as createLangsmithContent, ids } from "./support/langsmith-content.ts";
import type { OwnServer } from "./support/own-servers.ts";
import { useOwnServers } from "./support/own-servers.ts";

const servers = useOwnServers();

/** Imports everything in this process, with limits that a test can reach. */
async function importAll(
  url: string,
  target: OwnServer,
  {
    limits = {},
    create = createLangsmithSource,
  }: {
    readonly limits?: Partial<SourceLimits>;
    readonly create?: (settings: ImportSettings) => ImportSource;
  } = {},
): Promise<Tally> {
  const tally = new Tally();
  const signal = new AbortController().signal;
  const credentials = Buffer.from(`${publicKey}:${secretKey}`).toString("base64");
  const source = create({
    client: new SourceClient({
      product: "LangSmith",
      url: new URL(url),
      headers: { "x-api-key": apiKey, authorization: `Basic ${credentials}` },
      secrets: [],
      keyVariables: "",
      proxies: {},
      signal,
      onWait: () => undefined,
      limits,
    }),
    target: new ImportTarget({
      client: target.client,
      tally,
      isDryRun: false,
      signal,
      onRow: () => undefined,
      onWait: () => undefined,
    }),
    kinds: new Set(importKinds),
    projectNames: undefined,
    since: undefined,
    until: new Date().toISOString(),
  });
  await source.connect();
  for (const { listItems } of source.phases) {
    for (const { importPage } of await listItems()) {
      let cursor: string | undefined;
      do {
        cursor = await importPage(cursor);
      } while (cursor !== undefined);
    }
  }
  return tally;
}

test("pages that are too large are read in parts, and only a run that is too large alone is left out", async () => {
  const content = createLangsmithContent(30);
  const large = content.runs.map((run, n) => ({
    ...run,
    // 20 of these runs don't fit into a response.
    inputs: { text: "x".repeat(n === 10 ? 40_000 : 1_000) },
  }));
  const source = await startFakeLangsmith({ ...content, runs: large });
  const target = await servers.start();
  const tally = await importAll(source.url, target, { limits: { maxBytes: 20_000 } });
  expect(tally.read("runs")).toEqual({ imported: 32, existing: 0, leftOut: 1 });
  expect([...tally.readReasons("runs")]).toEqual([
    ["it is too large for one response", { count: 1, example: String(content.runs[10]?.["id"]) }],
  ]);
  expect(tally.read("examples").imported).toBe(31);
  expect(tally.read("feedback").imported).toBe(32);
});

test("malformed rows are left out with their reason, and all others are imported", async () => {
  const content = createLangsmithContent(5);
  const broken = { ...content.runs[3], id: ids.dataset };
  const source = await startFakeLangsmith(
    {
      ...content,
      runs: [
        ...content.runs,
        // The dotted order names another run.
        { ...broken, dotted_order: `20240501T100000000000Z${ids.root}` },
        { ...broken, id: "not-a-uuid" },
      ],
      feedback: [
        ...content.feedback,
        { ...content.feedback[0], id: ids.otherTenant, key: "x".repeat(500) },
      ],
    },
    { checksSchemas: false },
  );
  const target = await servers.start();
  const tally = await importAll(source.url, target);
  expect(tally.read("runs")).toEqual({ imported: 8, existing: 0, leftOut: 2 });
  const reasons = [...tally.readReasons("runs").keys()];
  expect(reasons).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^the server refused it: .*dotted_order/),
      expect.stringMatching(/^the server refused it: Invalid UUID for run id/),
    ]),
  );
  expect(tally.read("feedback")).toEqual({ imported: 7, existing: 0, leftOut: 1 });
});

test.each([3, 4] as const)(
  "a trace of version %i with many observations, a cycle of parents and odd values is imported whole",
  async (version) => {
    const trace = "large-trace";
    const second = (n: number) => new Date(Date.UTC(2024, 4, 1, 10, 0, n)).toISOString();
    const create = (n: number, json: Readonly<Record<string, unknown>> = {}) =>
      createObservation({
        id: `o${n}`,
        traceId: trace,
        name: `step ${n}`,
        startTime: second(n),
        endTime: second(n + 1),
        parentObservationId: n === 0 ? null : `o${n - 1}`,
        ...json,
      });
    const content = {
      ...createLangfuseContent(),
      traces: [createTrace({ id: trace, name: "large", timestamp: second(0) })],
      observations: [
        ...Array.from({ length: 200 }, (_, n) => create(n)),
        create(300, { parentObservationId: "o301", input: '{"a":', metadata: "text" }),
        create(301, { parentObservationId: "o300", input: "__proto__", output: [1, [2]] }),
        create(302, { parentObservationId: "o302", output: { __proto__: 1, "a.b": null } }),
      ],
    };
    const source = await startFakeLangfuse(content, version);
    const target = await servers.start();
    const tally = await importAll(source.url, target, { create: createLangfuseSource });
    expect(tally.read("runs")).toEqual({ imported: 204, existing: 0, leftOut: 0 });
    const runs = await target.client.runs.list({ projectNames: ["support"] }).toArray();
    const deepest = runs.find(({ name }) => name === "step 199");
    // The trace, 199 parents and the run itself.
    expect(deepest?.dottedOrder?.split(".")).toHaveLength(201);
    const root = runs.find(({ name }) => name === "large");
    for (const name of ["step 300", "step 301", "step 302"]) {
      expect(runs.find((run) => run.name === name)?.parentRunId).toBe(root?.id);
    }
    expect(runs.find(({ name }) => name === "step 300")).toMatchObject({
      inputs: { input: '{"a":' },
      extra: { metadata: { metadata: "text" } },
    });
    expect(root).toMatchObject({ startTime: "2024-05-01T10:00:00.000000Z" });
  },
);
