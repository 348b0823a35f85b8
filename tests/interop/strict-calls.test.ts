import { Client } from "millrace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stories } from "./story/all.ts";
import { recordTraceWith } from "./story/record-trace.ts";
import { methodsOf, recordCalls } from "./story/story-context.ts";
import { strictServer } from "./strict-server.ts";
import type { StrictServer } from "./strict-server.ts";
import type { SampleKind } from "./strict/sample.ts";

// Calls every method of every resource against a server that checks each request and sends sample responses:
// once with every member present, once with null wherever it is allowed.

describe.each<[SampleKind, string]>([
  ["full", ""],
  ["nulls", "/api/v1"],
])("to %s responses, below %j", (samples, prefix) => {
  const called = new Set<string>();
  let server: StrictServer;
  let client: Client;

  beforeAll(async () => {
    server = await strictServer({ apiKey: "key", samples });
    client = new Client({
      apiKey: "key",
      endpoint: server.endpoint + prefix,
      workers: 0,
      attempts: 1,
      logger: { warn: () => undefined },
    });
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  test.each(stories)("the calls of %s break no rule", async (_noun, runStory) => {
    const before = server.violations().length;
    await runStory({
      client: recordCalls(client, called),
      endpoint: server.endpoint,
      // The server stores nothing, so there is no effect to check.
      checkEffect: async () => {},
      recordTrace: recordTraceWith(client),
    });
    expect(server.violations().slice(before)).toEqual([]);
  });

  test("every method of every resource is called", () => {
    expect(methodsOf(client).filter((method) => !called.has(method))).toEqual([]);
    expect(called.size).toBeGreaterThan(20);
  });
});
