import * as fc from "fast-check";
import { RunTree as PeerRunTree } from "langsmith";
import { describe, expect, test } from "vitest";
import { startRun } from "../../src/tracing/runs/context.ts";
import type { HeadersLike } from "../../src/tracing/runs/propagation.ts";
import { RunTree } from "../../src/tracing/runs/run-tree.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

const order =
  "20251121T101320123456Z0197d3a4-0000-7000-8000-000000000001" +
  ".20251121T101320123999Z0197d3a4-0000-7000-8000-000000000002";

describe("writing headers", () => {
  test("the headers name the run, its tags, metadata and project", () => {
    const run = startRun(client(), {
      tags: ["a b", "c"],
      metadata: { user: "é" },
      projectName: "mill",
    });
    expect(run.toHeaders()).toEqual({
      "langsmith-trace": run.dottedOrder,
      baggage:
        "langsmith-metadata=%7B%22user%22%3A%22%C3%A9%22%7D,langsmith-tags=a%20b%2Cc,langsmith-project=mill",
    });
  });

  test("other headers stay, and other vendors' baggage stays unchanged before ours", () => {
    const run = startRun(client(), { projectName: "mill" });
    const existing = {
      Accept: "text/plain",
      Baggage: "vendor=%zz;prop=1, langsmith-project=old,other",
    };
    expect(run.toHeaders(existing)).toEqual({
      accept: "text/plain",
      "langsmith-trace": run.dottedOrder,
      baggage: "vendor=%zz;prop=1,other,langsmith-project=mill",
    });
  });

  test("metadata without a JSON form, or too long, is omitted and counted", () => {
    const collector = client();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const long = { text: "x".repeat(10_000) };
    for (const metadata of [cycle, long, { big: 1n }]) {
      expect(startRun(collector, { metadata }).toHeaders()["baggage"]).toBe(
        "langsmith-project=default",
      );
    }
    expect(collector.warnings).toHaveLength(3);
  });

  test("metadata that can't be read is omitted too", () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("hostile");
        },
      },
    );
    const run = startRun(client(), { metadata: hostile });
    expect(run.toHeaders()["baggage"]).toBe("langsmith-project=default");
  });

  test("a line break in a tag can't end the header", () => {
    const headers = startRun(client(), { tags: ["a\r\nx-evil: 1"] }).toHeaders();
    expect(headers["baggage"]).not.toMatch(/[\r\n]/);
  });
});

describe("reading headers", () => {
  test.each<[string, HeadersLike]>([
    ["a plain object in any case", { "LangSmith-Trace": order }],
    ["a list of values", { "langsmith-trace": [order] }],
    ["a Headers", new Headers({ "langsmith-trace": order })],
    ["a Map", new Map([["Langsmith-Trace", order]])],
  ])("reads %s", (_, headers) => {
    const collector = client();
    const remote = RunTree.fromHeaders(headers, { client: collector });
    expect(remote).toMatchObject({
      id: "0197d3a4-0000-7000-8000-000000000002",
      traceId: "0197d3a4-0000-7000-8000-000000000001",
      parentRunId: "0197d3a4-0000-7000-8000-000000000001",
      dottedOrder: order,
    });
  });

  test("the remote run is never recorded, but its local children are, in its trace", () => {
    const collector = client();
    const remote = RunTree.fromHeaders({ "langsmith-trace": order }, { client: collector })!;
    const child = remote.startChild({ name: "child" });
    remote.end({ ignored: true });
    expect(collector.records).toHaveLength(1);
    expect(collector.start("child")).toMatchObject({
      traceId: remote.traceId,
      parentRunId: remote.id,
    });
    expect(child.dottedOrder.startsWith(`${order}.`)).toBe(true);
  });

  test("all descendants inherit tags, metadata and project, which their own override", () => {
    const collector = client();
    const headers = {
      "langsmith-trace": order,
      baggage:
        "vendor=1, langsmith-metadata=%7B%22user%22%3A1%2C%22kind%22%3A%22in%22%7D , langsmith-tags=a%2Cb,langsmith-project=mill",
    };
    const child = RunTree.fromHeaders(headers, { client: collector })!.startChild({
      tags: ["b", "c"],
    });
    child.startChild({ name: "grandchild", metadata: { kind: "own" } });
    expect(child.tags).toEqual(["a", "b", "c"]);
    expect(collector.start("grandchild")).toMatchObject({
      tags: ["a", "b"],
      metadata: { user: 1, kind: "own" },
      projectName: "mill",
    });
  });

  test("a child starts after its remote parent, even if the remote clock is slightly ahead", () => {
    const ahead = startRun(client(), { parent: null, startTime: Date.now() + 60_000 });
    const child = RunTree.fromHeaders(ahead.toHeaders(), { client: client() })!.startChild();
    expect(child.startedAt).toBeGreaterThan(ahead.startedAt);
  });

  test("a parent from the far future does not change the start of its children", () => {
    const forged = "21990101T000000000000Z0197d3a4-0000-7000-8000-000000000001";
    const child = RunTree.fromHeaders(
      { "langsmith-trace": forged },
      { client: client() },
    )!.startChild();
    expect(Math.abs(child.startedAt - Date.now())).toBeLessThan(10_000);
  });

  test.each([
    "garbage",
    `${order}.`,
    "20251121T101320123456Znot-a-uuid",
    "99999999T999999999999Z0197d3a4-0000-7000-8000-000000000001",
    Array.from({ length: 200 }, () => order.slice(0, 58)).join("."),
  ])("a malformed trace header is ignored and counted: %.60s", (text) => {
    const collector = client();
    expect(RunTree.fromHeaders({ "langsmith-trace": text }, { client: collector })).toBeUndefined();
    expect(collector.warnings).toMatchObject([{ kind: "malformedHeaders" }]);
  });

  test("a missing trace header causes no warning", () => {
    const collector = client();
    expect(
      RunTree.fromHeaders({ baggage: "langsmith-tags=%zz" }, { client: collector }),
    ).toBeUndefined();
    expect(RunTree.fromHeaders({}, { client: collector })).toBeUndefined();
    expect(collector.warnings).toEqual([]);
  });

  test("a malformed entry of ours is ignored and counted, and other entries are used", () => {
    const collector = client();
    const headers = {
      "langsmith-trace": order,
      baggage: "langsmith-metadata=%7Bbad,langsmith-tags=%zz,langsmith-project=mill",
    };
    const remote = RunTree.fromHeaders(headers, { client: collector });
    expect(remote).toMatchObject({ projectName: "mill", tags: undefined, metadata: undefined });
    expect(collector.warnings).toHaveLength(2);
  });

  test("malformed entries of other vendors cause no warning", () => {
    const collector = client();
    const headers = { "langsmith-trace": order, baggage: "=,a=%,;;;,%%%=%zz, ,b" };
    expect(RunTree.fromHeaders(headers, { client: collector })).toBeDefined();
    expect(collector.warnings).toEqual([]);
  });

  test("no text in either header makes it throw", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant(order));
    fc.assert(
      fc.property(text, text, (trace, baggage) => {
        RunTree.fromHeaders({ "langsmith-trace": trace, baggage }, { client: client() })?.toHeaders(
          {
            baggage,
          },
        );
        expect(() =>
          RunTree.fromHeaders(
            { "langsmith-trace": order, baggage: `langsmith-tags=${baggage}` },
            {
              client: client(),
            },
          )?.startChild(),
        ).not.toThrow();
      }),
    );
  });

  test("headers that throw when they are read are ignored and counted", () => {
    const collector = client();
    const hostile = {
      forEach: () => {
        throw new Error("hostile");
      },
    };
    expect(RunTree.fromHeaders(hostile, { client: collector })).toBeUndefined();
    expect(collector.warnings).toMatchObject([{ kind: "malformedHeaders" }]);
  });
});

describe("round trip", () => {
  const tag = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
  const jsonObject = fc
    .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }))
    .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

  test("tags with any text, metadata and project arrive as they were sent", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(tag, { maxLength: 8 }),
        jsonObject,
        tag,
        (tags, metadata, project) => {
          const sent = startRun(client(), { parent: null, tags, metadata, projectName: project });
          const received = RunTree.fromHeaders(new Headers(sent.toHeaders()), {
            client: client(),
          })!;
          expect(received.dottedOrder).toBe(sent.dottedOrder);
          expect(received.projectName).toBe(project);
          expect(received.tags ?? []).toEqual(tags);
          expect(received.metadata ?? {}).toEqual(metadata);
        },
      ),
    );
  });

  test("tags that look like escapes arrive as they were sent", () => {
    const tags = ["%2C", "%252c", "100%", "a,b", "%25"];
    const sent = startRun(client(), { tags });
    expect(RunTree.fromHeaders(sent.toHeaders(), { client: client() })?.tags).toEqual(tags);
  });

  test("the platform's own client reads our headers", () => {
    const run = startRun(client(), {
      tags: ["plain", "two"],
      metadata: { user: 1 },
      projectName: "mill",
    });
    const peer = PeerRunTree.fromHeaders(run.toHeaders())!;
    expect(peer).toMatchObject({
      id: run.id,
      trace_id: run.traceId,
      dotted_order: run.dottedOrder,
      project_name: "mill",
      tags: ["plain", "two"],
    });
    expect(peer.metadata).toEqual({ user: 1 });
  });

  test("we read the headers of the platform's own client", () => {
    const peer = new PeerRunTree({ name: "peer", tags: ["100%", "two"], metadata: { user: 1 } });
    const remote = RunTree.fromHeaders(peer.toHeaders(), { client: client() })!;
    expect(remote).toMatchObject({
      id: peer.id,
      traceId: peer.trace_id,
      tags: ["100%", "two"],
      metadata: { user: 1 },
    });
  });
});
