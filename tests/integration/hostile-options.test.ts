import { Client, traceable } from "millrace";
import type { RunTree, StartOptions } from "millrace";
import { describe, expect, test } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";

/** A proxy that throws on every operation. */
function revoked<Value extends object>(value: Value): Value {
  const { proxy, revoke } = Proxy.revocable(value, {});
  revoke();
  return proxy;
}

type Fields = Readonly<Record<string, unknown>>;

/** Records one run with `work`, and returns its start and end as they arrived, merged, with the client's counters. */
async function recorded(work: (client: Client) => unknown): Promise<Fields & { counts: unknown }> {
  await using server = await loopbackServer();
  const { endpoint } = server;
  // Values are written where they are recorded, so a worker would only delay the test.
  const client = new Client({ endpoint, workers: 0, logger: { warn: () => undefined } });
  await work(client);
  await client.close();
  const run: Record<string, unknown> = {};
  for (const { body } of server.runRequests) {
    const sent = JSON.parse(body.toString()) as Fields & {
      readonly post?: readonly Fields[];
      readonly patch?: readonly Fields[];
    };
    const { post = [], patch = [] } = sent;
    // A run that is sent alone is the whole body.
    for (const one of [...post, ...patch, sent]) {
      Object.assign(run, one);
    }
  }
  const { accepted, delivered, lost } = client.stats();
  return { ...run, counts: { accepted, delivered, unencodable: lost.unencodable } };
}

const marker = expect.stringContaining("[unserializable: Cannot perform") as unknown;
const whole = { accepted: 2, delivered: 2, unencodable: 0 };
const baseOptions = { name: "whole", inputs: { a: 1 }, tags: ["t"], metadata: { m: 1 } };
const start =
  (options: StartOptions) =>
  (client: Client): void => {
    client.startRun({ ...baseOptions, ...options }).end({ ok: true });
  };

describe("a revoked proxy as", () => {
  test.each<[string, StartOptions, Fields]>([
    ["inputs", { inputs: revoked({}) }, { inputs: { input: marker }, tags: ["t"] }],
    ["metadata", { metadata: revoked({}) }, { inputs: { a: 1 }, tags: ["t"] }],
    ["tags", { tags: revoked([]) }, { inputs: { a: 1 }, tags: [marker] }],
    ["startTime", { startTime: revoked(new Date()) }, { inputs: { a: 1 }, tags: ["t"] }],
    ["parent", { parent: revoked({}) as RunTree }, { inputs: { a: 1 }, tags: ["t"] }],
    ["serialized", { serialized: revoked({}) }, { inputs: { a: 1 }, serialized: marker }],
  ])("%s of a start: only that value is lost", async (name, options, expected) => {
    const run = await recorded(start(options));
    expect(run).toMatchObject({ name: "whole", outputs: { ok: true }, ...expected, counts: whole });
    const unreadable = { millrace_error: "[unserializable: metadata]" };
    const metadata = name === "metadata" ? unreadable : { m: 1 };
    expect(run["extra"]).toMatchObject({ metadata });
  });

  test.each<[string, (client: Client) => unknown]>([
    ["the argument of end()", (client) => client.startRun(baseOptions).end(revoked({}))],
    ["the outputs of fail()", (client) => client.startRun(baseOptions).fail("x", revoked({}))],
    [
      "what a traced function returns",
      (client) => {
        traceable(() => revoked({}), { ...baseOptions, client })();
      },
    ],
    [
      "what a traced promise resolves to",
      async (client) => {
        await traceable(async () => [revoked({})], { ...baseOptions, client })();
      },
    ],
    [
      "a chunk of a stream",
      (client) => {
        const stream = traceable(
          function* chunks() {
            yield revoked({});
          },
          { ...baseOptions, client },
        );
        expect([...stream()]).toHaveLength(1);
      },
    ],
  ])("%s: only that value is lost", async (_, work) => {
    const run = await recorded(work);
    expect(run).toMatchObject({ name: "whole", counts: whole });
    expect(JSON.stringify(run["outputs"])).toContain("[unserializable: Cannot perform");
    expect(run["end_time"]).toBeDefined();
  });

  test("outputs or extra of updateRun: only that value is lost", async () => {
    const id = "0198c7d2-0000-7000-8000-000000000001";
    for (const part of ["outputs", "extra"]) {
      const run = await recorded((client) =>
        client.updateRun(id, { [part]: revoked({}), error: "kept" }),
      );
      expect(run).toMatchObject({ error: "kept", [part]: marker });
      expect(run.counts).toEqual({ accepted: 1, delivered: 1, unencodable: 0 });
    }
  });

  test("attachments: only they are lost", async () => {
    await using server = await loopbackServer();
    const client = new Client({ endpoint: server.endpoint, logger: { warn: () => undefined } });
    start({ attachments: revoked({}) })(client);
    await client.close();
    expect(client.stats()).toMatchObject({ accepted: 2, delivered: 2 });
    const sent = server.runRequests.map(({ body }) => body.toString("latin1")).join("");
    expect(sent).toContain('"name":"whole"');
  });
});
