import * as fc from "fast-check";
import { validate } from "uuid";
import { afterEach, describe, expect, test, vi } from "vitest";
import { microsToStamp, parseDottedOrder } from "../../src/model/dotted-order.ts";
import { startRun } from "../../src/tracing/runs/context.ts";
import { RunTree } from "../../src/tracing/runs/run-tree.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe("start", () => {
  test("a run is recorded at once, with all its options", () => {
    const collector = client();
    const run = startRun(collector, {
      name: "answer",
      runType: "llm",
      inputs: { question: "why" },
      tags: ["a"],
      metadata: { user: 1 },
      projectName: "mill",
      serialized: { lc: 1 },
      referenceExampleId: "0197d3a4-0000-7000-8000-000000000001",
    });
    expect(collector.records).toEqual([
      expect.objectContaining({
        kind: "start",
        id: run.id,
        traceId: run.id,
        parentRunId: undefined,
        name: "answer",
        runType: "llm",
        projectName: "mill",
        inputs: { question: "why" },
        tags: ["a"],
        metadata: { user: 1 },
        serialized: { lc: 1 },
        referenceExampleId: "0197d3a4-0000-7000-8000-000000000001",
        endMicros: undefined,
      }),
    ]);
  });

  test("a run without options is a chain in the client's project, named after its type", () => {
    const run = startRun(client());
    expect(run).toMatchObject({ name: "chain", runType: "chain", projectName: "default" });
  });

  test("a child is in the trace and project of its parent, below it", () => {
    const collector = client();
    const root = startRun(collector, { projectName: "mill" });
    const child = root.startChild({ name: "child" });
    expect(child.dottedOrder.startsWith(`${root.dottedOrder}.`)).toBe(true);
    expect(collector.start("child")).toMatchObject({
      parentRunId: root.id,
      traceId: root.id,
      projectName: "mill",
    });
  });

  test("no environment variable is copied into a run", () => {
    vi.stubEnv("LANGSMITH_SECRET_REVISION", "from-the-environment");
    const collector = client();
    startRun(collector, { name: "root" }).startChild({ name: "child" }).end();
    expect(JSON.stringify(collector.records)).not.toContain("from-the-environment");
  });

  test("a given id is used, in small letters", () => {
    const id = "0197D3A4-0000-7000-8000-00000000000A";
    const run = startRun(client(), { id });
    expect(run.id).toBe(id.toLowerCase());
    expect(parseDottedOrder(run.dottedOrder).runId).toBe(run.id);
  });

  test("an id that is no UUID is replaced and counted, never thrown", () => {
    const collector = client();
    const run = startRun(collector, { id: "seven", referenceExampleId: "eight" });
    expect(validate(run.id)).toBe(true);
    expect(run.referenceExampleId).toBeUndefined();
    expect(collector.warnings).toHaveLength(2);
  });

  test("a given start time is recorded to the microsecond", () => {
    const run = startRun(client(), { startTime: 1_763_720_000_123.456 });
    expect(run.startedAt).toBe(1_763_720_000_123.456);
    expect(run.dottedOrder.slice(0, 22)).toBe("20251121T101320123456Z");
  });

  test("inputs that are no plain object become the value of one key", () => {
    const collector = client();
    startRun(collector, { name: "list", inputs: [1] as never });
    startRun(collector, { name: "text", inputs: "why" as never });
    expect(collector.start("list").inputs).toEqual({ input: [1] });
    expect(collector.start("text").inputs).toEqual({ input: "why" });
  });

  test.each([
    ["tags", "prod", "a list of texts"],
    ["tags", new Set(["prod"]), "a list of texts"],
    ["startTime", "2026-01-01T00:00:00Z", "a valid Date or a number of milliseconds"],
    ["startTime", new Date("never"), "a valid Date or a number of milliseconds"],
    ["name", 5, "a text"],
    ["runType", {}, "a text"],
  ])("a wrong value of the option %s is ignored with a warning: %j", (option, value, allowed) => {
    const collector = client();
    startRun(collector, { [option]: value });
    expect(collector.starts()).toHaveLength(1);
    expect(collector.warnings).toEqual([
      {
        kind: "invalidOption",
        message: `The option ${option} of a run must be ${allowed}; it was ignored.`,
      },
    ]);
  });

  test("options without a value cause no warning", () => {
    const collector = client();
    startRun(collector, {
      name: null,
      runType: undefined,
      tags: null,
      startTime: undefined,
    } as never);
    startRun(collector, { tags: [], startTime: new Date(0), name: "" });
    expect(collector.warnings).toEqual([]);
  });

  test("options that throw when they are read are lost, but the run is recorded", () => {
    const collector = client();
    const hostile = Object.defineProperty({}, "name", {
      get: () => {
        throw new Error("hostile");
      },
    });
    startRun(collector).startChild(hostile);
    expect(collector.starts()).toHaveLength(2);
    expect(collector.warnings).toMatchObject([{ kind: "hiddenFailure" }]);
  });
});

describe("order", () => {
  const changes = fc.array(fc.integer({ min: -10_000, max: 5 }), { minLength: 2, maxLength: 100 });

  test("siblings sort in the order of their start, whatever the clock does", () => {
    fc.assert(
      fc.property(changes, (steps) => {
        vi.useFakeTimers({ now: 1_763_720_000_000, toFake: ["Date", "performance"] });
        let now = 1_763_720_000_000;
        const root = startRun(client(), { parent: null });
        const orders = steps.map((step) => {
          now += step;
          vi.setSystemTime(now);
          return root.startChild().dottedOrder;
        });
        expect(orders).toEqual([...new Set(orders)].toSorted());
      }),
    );
  });

  test("a whole trace sorts in the order of starting when each run starts below the last", () => {
    const shape = fc.array(fc.nat(), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(shape, (choices) => {
        const runs = [startRun(client(), { parent: null })];
        for (const choice of choices) {
          runs.push(runs[choice % runs.length]!.startChild());
        }
        const starts = runs.map(({ dottedOrder }) => dottedOrder.slice(-58));
        expect(starts).toEqual(starts.toSorted());
        for (const run of runs) {
          const { traceId, runId, parentRunId } = parseDottedOrder(run.dottedOrder);
          expect({ traceId, runId, parentRunId }).toEqual({
            traceId: runs[0]!.id,
            runId: run.id,
            parentRunId: run.parentRunId,
          });
        }
      }),
    );
  });

  test("ten thousand siblings that start within one millisecond keep their order", () => {
    vi.useFakeTimers({ now: 1_763_720_000_000, toFake: ["Date", "performance"] });
    const root = startRun(client());
    const stamps = Array.from({ length: 10_000 }, () =>
      root.startChild().dottedOrder.slice(59, 81),
    );
    expect(new Set(stamps).size).toBe(10_000);
    expect(stamps).toEqual(stamps.toSorted());
  });
});

describe("end", () => {
  test("is recorded once, with outputs and a time not before the start", () => {
    const collector = client();
    const run = startRun(collector, { name: "run" });
    run.end({ answer: 42 });
    const end = collector.end("run");
    expect(end.outputs).toEqual({ answer: 42 });
    expect(end.endMicros).toBeGreaterThanOrEqual(run.startedAt * 1_000);
  });

  test("the first of end and fail wins", () => {
    const collector = client();
    const run = startRun(collector, { name: "run" });
    run.fail(new Error("first"));
    run.end({ late: true });
    run.fail(new Error("late"));
    expect(collector.end("run")).toMatchObject({ outputs: undefined });
    expect(collector.end("run").error).toContain("Error: first");
  });

  test("a given end time is kept, but never before the start", () => {
    const collector = client();
    startRun(collector, { name: "given", startTime: 1_000 }).end(undefined, { endTime: 2_000.5 });
    startRun(collector, { name: "before", startTime: 1_000 }).end(undefined, { endTime: 1 });
    expect(collector.end("given").endMicros).toBe(2_000_500);
    expect(collector.end("before").endMicros).toBe(1_000_000);
  });

  test("an invalid or unreadable end time becomes the current time", () => {
    const collector = client();
    const hostile = Object.defineProperty({}, "endTime", {
      get: () => {
        throw new Error("hostile");
      },
    });
    startRun(collector, { name: "text" }).end(undefined, { endTime: "late" as never });
    startRun(collector, { name: "hostile" }).end(undefined, hostile);
    for (const name of ["text", "hostile"]) {
      expect(Math.abs(collector.end(name).endMicros! / 1_000 - Date.now())).toBeLessThan(5_000);
    }
  });

  test("an ended run releases its payloads", () => {
    const run = startRun(client(), { inputs: { large: "x" } });
    run.addEvent({ name: "event" });
    run.end({ large: "y" });
    expect([run.inputs, run.outputs, run.events]).toEqual([undefined, undefined, undefined]);
  });

  test("events have the time of their call to the microsecond, unless they contain a time", () => {
    const collector = client();
    const run = startRun(collector, { name: "run" });
    run.addEvent({ name: "new_token", kwargs: { token: "a" } });
    run.addEvent({ name: "given", time: "2025-01-01T00:00:00Z" });
    run.end();
    const [token, customEvent] = collector.end("run").events ?? [];
    expect(token).toMatchObject({ name: "new_token", kwargs: { token: "a" } });
    expect(token?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(customEvent).toEqual({ name: "given", time: "2025-01-01T00:00:00Z" });
  });

  test("tags and metadata that were added are sent again with the end", () => {
    const collector = client();
    const run = startRun(collector, { name: "run", tags: ["a"], metadata: { a: 1, b: 1 } });
    run.addTags("b", "a");
    run.addMetadata({ b: 2 });
    run.end();
    expect(collector.start("run").detailsChanged).toBe(false);
    expect(collector.end("run")).toMatchObject({
      detailsChanged: true,
      tags: ["a", "b"],
      metadata: { a: 1, b: 2 },
    });
  });

  test("a run started below one that ended is recorded, and counted", () => {
    const collector = client();
    const run = startRun(collector);
    run.end();
    run.startChild({ name: "late" });
    expect(collector.start("late").parentRunId).toBe(run.id);
    expect(collector.warnings).toMatchObject([{ kind: "childOfEndedRun" }]);
  });
});

test("a run shows neither payloads nor its client as JSON or in the console", () => {
  const run = startRun(client(), { name: "run", inputs: { secret: "s3cr3t" } });
  expect(JSON.parse(JSON.stringify(run))).toEqual({
    id: run.id,
    traceId: run.id,
    dottedOrder: run.dottedOrder,
    name: "run",
    runType: "chain",
    projectName: "default",
    startedAt: run.startedAt,
  });
  expect(Object.values(run)).not.toContain(run.client);
  expect(run).toBeInstanceOf(RunTree);
});

test("a run's dotted order is its parent's, a dot, its start and its id, however deep", () => {
  const root = RunTree.start({ client: client(), recorded: true }, {});
  let run = root;
  for (let depth = 0; depth < 40; depth += 1) {
    const child = run.startChild();
    const own = microsToStamp(child.startMicros) + child.id;
    expect(child.dottedOrder).toBe(`${run.dottedOrder}.${own}`);
    run = child;
  }
  expect(root.dottedOrder).toBe(microsToStamp(root.startMicros) + root.id);
});
