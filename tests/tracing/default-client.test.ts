import { beforeEach, expect, test, vi } from "vitest";
import { OptionError } from "../../src/model/errors.ts";
import { CollectingClient } from "./collecting-client.ts";

const none = { delivered: 0, pending: 0, lost: 0 };
const empty = { ...none, runs: none };
const noFlush = async (): Promise<typeof empty> => empty;

/** Loads the modules again, because the list of open clients is state of the process. */
async function load() {
  const clients = await import("../../src/tracing/runs/default-client.ts");
  const context = await import("../../src/tracing/runs/context.ts");
  const { traceable } = await import("../../src/tracing/runs/traceable.ts");
  return { ...clients, ...context, traceable };
}

beforeEach(() => {
  vi.resetModules();
});

test("is the client of the current run, else the program's first open client, else an implicit one, else none", async () => {
  const { findDefaultClient, registerClient, setClientFactory, startRun, withRun } = await load();
  expect(findDefaultClient()).toBeUndefined();
  const [first, second, created] = [1, 2, 3].map(() => new CollectingClient());
  setClientFactory(() => created!);
  const closeFirst = registerClient(first!, noFlush);
  const closeSecond = registerClient(second!, noFlush);
  expect(findDefaultClient()).toBe(first);
  expect(withRun(startRun(second!), () => findDefaultClient())).toBe(second);
  closeFirst();
  closeFirst();
  expect(findDefaultClient()).toBe(second);
  closeSecond();
  expect(findDefaultClient()).toBe(created);
});

test("the program's first client replaces the implicit one, which is flushed and keeps its runs", async () => {
  const { findDefaultClient, registerClient, setClientFactory, traceable } = await load();
  const [implicit, explicit] = [new CollectingClient(), new CollectingClient()];
  const flushed = vi.fn<typeof noFlush>(noFlush);
  setClientFactory(() => {
    registerClient(implicit, flushed);
    return implicit;
  });
  const outer = traceable(
    (during: () => void) => {
      during();
      traceable(() => 1, { name: "inner" })();
    },
    { name: "outer" },
  );
  outer(() => {
    expect(findDefaultClient()).toBe(implicit);
    expect(flushed).not.toHaveBeenCalled();
    registerClient(explicit, noFlush);
    expect(flushed).toHaveBeenCalledOnce();
  });
  traceable(() => 1, { name: "later" })();
  expect(implicit.records.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "outer start",
    "inner start",
    "inner end",
    "outer end",
  ]);
  expect(explicit.records.map(({ name }) => name)).toEqual(["later", "later"]);
});

test("with several clients, the chosen one is used while it is open", async () => {
  const { findDefaultClient, registerClient, setDefaultClient } = await load();
  const [first, second] = [new CollectingClient(), new CollectingClient()];
  registerClient(first, noFlush);
  const closeSecond = registerClient(second, noFlush);
  setDefaultClient(second);
  expect(findDefaultClient()).toBe(second);
  setDefaultClient(undefined);
  expect(findDefaultClient()).toBe(first);
  setDefaultClient(second);
  closeSecond();
  expect(findDefaultClient()).toBe(first);
  expect(() => setDefaultClient(second)).toThrow("setDefaultClient takes a Client that is open");
});

test("if the environment configures none, it is read once, and calls continue unrecorded", async () => {
  const { setClientFactory, traceable } = await load();
  const create = vi.fn<() => undefined>(() => undefined);
  setClientFactory(create);
  const next = traceable((n: number) => n + 1);
  expect(next(1)).toBe(2);
  expect(next(2)).toBe(3);
  expect(create).toHaveBeenCalledOnce();
});

test("that can't be created does not affect the traced call", async () => {
  const { setClientFactory, traceable } = await load();
  setClientFactory(() => {
    throw new OptionError("no configuration");
  });
  expect(traceable((n: number) => n + 1)(1)).toBe(2);
});

test("flushAll adds up the outcomes of every open client", async () => {
  const { flushAll, registerClient } = await load();
  registerClient(new CollectingClient(), async () => ({
    delivered: 2,
    pending: 1,
    lost: 0,
    runs: { delivered: 1, pending: 1, lost: 0 },
  }));
  const limits: (number | undefined)[] = [];
  registerClient(new CollectingClient(), async (timeoutMs) => {
    limits.push(timeoutMs);
    return { delivered: 3, pending: 0, lost: 4, runs: { delivered: 2, pending: 0, lost: 3 } };
  });
  expect(await flushAll(50)).toEqual({
    delivered: 5,
    pending: 1,
    lost: 4,
    runs: { delivered: 3, pending: 1, lost: 3 },
  });
  expect(limits).toEqual([50]);
});

test("a function chooses the client for each run, and a run without a client is not recorded", async () => {
  const { withRun } = await load();
  const { RunTree } = await import("../../src/tracing/runs/new-run-tree.ts");
  const { recordExchange } = await import("../../src/tracing/runs/new-exchange.ts");
  const [left, right] = [new CollectingClient(), new CollectingClient()];
  const chosen = [left, right, undefined];
  const client = () => chosen.shift();
  const runs = ["first", "second", "third"].map((name) => new RunTree({ name, client }));
  expect(left.records.map(({ name }) => name)).toEqual(["first"]);
  expect(right.records.map(({ name }) => name)).toEqual(["second"]);
  expect(runs.map(({ sampled }) => sampled)).toEqual([true, true, false]);
  const headers = runs[0]!.toHeaders();
  expect(RunTree.fromHeaders(headers, { client: () => right })?.client).toBe(right);
  const format = "openai.chat";
  const exchange = recordExchange({ client: () => left, format });
  expect(exchange.run.client).toBe(left);
  expect(withRun(runs[1]!, () => recordExchange({ format })).run.client).toBe(right);
});

test("a run whose client can't be chosen because the function throws is not recorded", async () => {
  await load();
  const { RunTree } = await import("../../src/tracing/runs/new-run-tree.ts");
  const { recordExchange } = await import("../../src/tracing/runs/new-exchange.ts");
  const client = () => {
    throw new Error("no client");
  };
  expect(new RunTree({ client }).sampled).toBe(false);
  expect(recordExchange({ client, format: "openai.chat" }).isRecorded).toBe(false);
});
