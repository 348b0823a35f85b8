import { Client, RunTree } from "@millrace/langsmith";
import { getCurrentRunTree, traceable } from "@millrace/langsmith/traceable";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client as MillraceClient, currentRun, traceable as millraceTraceable } from "millrace";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

let server: RunningServer;
let client: Client;
let reader: MillraceClient;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  client = new Client({ apiUrl: server.url });
  reader = new MillraceClient({ endpoint: server.url });
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

afterAll(async () => {
  vi.restoreAllMocks();
  await client.millrace.close();
  await reader.close();
  await server.close();
});

const options = (name: string) => ({ name, client, project_name: name, tracingEnabled: true });

const runsOf = async (project: string) => {
  await client.flush();
  return reader.runs.list({ projectNames: [project], order: "asc" }).toArray();
};

/** An object that throws whatever is done with it. */
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("read");
    },
    has: () => {
      throw new Error("has");
    },
    ownKeys: () => {
      throw new Error("keys");
    },
    getPrototypeOf: () => {
      throw new Error("prototype");
    },
  },
);

test("a function gets arguments that can't be read, and the call returns", async () => {
  const identify = traceable(async (value: unknown) => value === hostile, options("hostile in"));
  expect(await identify(hostile)).toBe(true);
});

test("a result that can't be read is returned, and its run has ended", async () => {
  const produce = traceable(async () => [hostile], options("hostile out"));
  const [produced] = await produce();
  expect(produced === hostile).toBe(true);
  const [run] = await runsOf("hostile out");
  expect(run).toMatchObject({ status: "success" });
});

test("hooks that throw reach neither the caller nor the run's content", async () => {
  const fail = (): never => {
    throw new Error("hook");
  };
  const work = traceable(async (input: { secret: string }) => ({ secret: input.secret }), {
    ...options("hooks"),
    processInputs: fail,
    processOutputs: fail,
    on_end: fail,
  });
  expect(await work({ secret: "hush" })).toEqual({ secret: "hush" });
  const [run] = await runsOf("hooks");
  expect(run).toMatchObject({
    inputs: { ls_error: "Processing failed; inputs dropped (processInputs)" },
    outputs: { ls_error: "Processing failed; outputs dropped (processOutputs)" },
  });
});

const failingSum = () => {
  throw new Error("sum");
};

test.each([
  { verb: "threw", aggregator: failingSum },
  { verb: "rejected", aggregator: async () => failingSum() },
])("an aggregator that $verb leaves the chunks, with a warning", async ({ verb, aggregator }) => {
  vi.mocked(console.warn).mockClear();
  const stream = traceable(
    async function* stream() {
      yield* [1, 2];
    },
    { ...options(`aggregator ${verb}`), aggregator },
  );
  const chunks: number[] = [];
  for await (const chunk of stream()) {
    chunks.push(chunk);
  }
  expect(chunks).toEqual([1, 2]);
  await expect
    .poll(async () => runsOf(`aggregator ${verb}`))
    .toMatchObject([{ outputs: { outputs: [1, 2] } }]);
  expect(vi.mocked(console.warn).mock.calls).toEqual([
    [`[@millrace/langsmith] The aggregator ${verb} (Error: sum), so the chunks are recorded.`],
  ]);
});

test("what the function throws is thrown, whatever it is", async () => {
  const work = traceable(async () => {
    // oxlint-disable-next-line typescript/only-throw-error -- a program may
    throw null;
  }, options("thrown"));
  await expect(work()).rejects.toBe(null);
  expect((await runsOf("thrown"))[0]).toMatchObject({ error: "null", status: "error" });
});

test("runs without a server are counted, and nothing is thrown", async () => {
  const lost = new Client({ apiUrl: "http://127.0.0.1:9", callerOptions: { maxRetries: 0 } });
  const work = traceable(async () => 1, { ...options("lost"), client: lost });
  expect(await work()).toBe(1);
  const tree = new RunTree({ name: "by hand", client: lost });
  await tree.postRun();
  await tree.end();
  await tree.patchRun();
  await lost.millrace.close({ timeoutMs: 2_000 });
  expect(lost.millrace.stats().delivered).toBe(0);
  expect(lost.millrace.stats().accepted).toBe(4);
});

test("traced functions of both packages nest in each other, in one trace", async () => {
  const inner = traceable(async (n: number) => n + 1, { ...options("nested"), name: "inner" });
  const middle = millraceTraceable(
    async (n: number) => {
      expect(currentRun()?.name).toBe("middle");
      return inner(n);
    },
    { name: "middle" },
  );
  const outer = traceable(
    async (n: number) => {
      expect(getCurrentRunTree().name).toBe("outer");
      return middle(n);
    },
    { ...options("nested"), name: "outer" },
  );
  expect(await outer(1)).toBe(2);
  const runs = await runsOf("nested");
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  expect(runs.map(({ name, parentRunId }) => [name, names.get(parentRunId ?? "")])).toEqual([
    ["outer", undefined],
    ["middle", "outer"],
    ["inner", "middle"],
  ]);
});

test("a run with many children holds none of them after it was sent", async () => {
  const root = new RunTree({ name: "root", client, project_name: "many" });
  await root.postRun();
  for (let index = 0; index < 1_000; index += 1) {
    root.createChild({ name: "child" });
  }
  expect(root.child_runs).toEqual([]);
});
