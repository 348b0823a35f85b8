import { expect, test } from "vitest";
import { HedgedCalls } from "../hedged-calls.ts";

interface FakeLink {
  readonly name: string;
  isConnected: boolean;
}

const createLinks = (): [FakeLink, FakeLink] => [
  { name: "first", isConnected: true },
  { name: "second", isConnected: true },
];

const limits = { lateMs: 5, calls: 8, waitMs: 5 };

function createDeferred() {
  let resolve: (value: string) => void = () => undefined;
  const promise = new Promise<string>((onResolve) => {
    resolve = onResolve;
  });
  return { promise, resolve };
}

/** A call that does not end. */
const { promise: never } = createDeferred();

/** Runs a call whose result depends on the link. Returns the result and the links that were used, in order. */
async function run(
  calls: HedgedCalls<FakeLink>,
  links: [FakeLink, ...FakeLink[]],
  results: Readonly<Record<string, Promise<string>>>,
) {
  const used: string[] = [];
  const result = await calls.run(links, ({ name }) => {
    used.push(name);
    return results[name] ?? Promise.resolve(name);
  });
  return { result, used };
}

test("a call that ends in time is made once", async () => {
  const calls = new HedgedCalls<FakeLink>(limits);
  expect(await run(calls, createLinks(), {})).toEqual({ result: "first", used: ["first"] });
});

test("a call that takes too long is also made with the other link, which is used first from then on", async () => {
  const calls = new HedgedCalls<FakeLink>(limits);
  const links = createLinks();
  expect(await run(calls, links, { first: never })).toEqual({
    result: "second",
    used: ["first", "second"],
  });
  expect(await run(calls, links, { first: never })).toEqual({ result: "second", used: ["second"] });
  expect(await run(calls, links, { second: never })).toEqual({
    result: "first",
    used: ["second", "first"],
  });
});

test("a late success of the first link counts if the other one fails", async () => {
  const calls = new HedgedCalls<FakeLink>(limits);
  const { promise, resolve } = createDeferred();
  const running = calls.run(createLinks(), ({ name }) => {
    if (name === "first") {
      return promise;
    }
    resolve("late");
    return Promise.reject(new Error("no server answers"));
  });
  expect(await running).toBe("late");
});

test("a call that fails is made with the other link, and its error is thrown if both fail", async () => {
  const calls = new HedgedCalls<FakeLink>(limits);
  const failed = Promise.reject(new Error("first failed"));
  expect((await run(calls, createLinks(), { first: failed })).result).toBe("second");
  await expect(
    new HedgedCalls<FakeLink>(limits).run(createLinks(), ({ name }) =>
      Promise.reject(new Error(`${name} failed`)),
    ),
  ).rejects.toThrow("second failed");
});

test("a log that is full is not asked again", async () => {
  const used: string[] = [];
  const full = Object.assign(new Error("full"), { api_error: { err_code: 10_077 } });
  const running = new HedgedCalls<FakeLink>(limits).run(createLinks(), ({ name }) => {
    used.push(name);
    return Promise.reject(full);
  });
  await expect(running).rejects.toBe(full);
  expect(used).toEqual(["first"]);
});

test("a link that is not connected is used only if there is no other", async () => {
  const calls = new HedgedCalls<FakeLink>(limits);
  const [first, second] = createLinks();
  first.isConnected = false;
  expect((await run(calls, [first, second], {})).used).toEqual(["second"]);
  second.isConnected = false;
  expect((await run(calls, [first, second], {})).used).toEqual(["first"]);
});

test("no more calls than the limit are made twice at once", async () => {
  const calls = new HedgedCalls<FakeLink>({ ...limits, calls: 1 });
  const links = createLinks();
  const { promise, resolve } = createDeferred();
  const usedByOne: string[] = [];
  const one = calls.run(links, ({ name }) => {
    usedByOne.push(name);
    return name === "first" ? never : promise;
  });
  await expect.poll(() => usedByOne).toEqual(["first", "second"]);
  const used: string[] = [];
  const other = calls.run(links, ({ name }) => {
    used.push(name);
    return name === "first" ? never : Promise.resolve(name);
  });
  // Many times the pause after which it looks again.
  await new Promise((after) => {
    setTimeout(after, 20 * limits.waitMs);
  });
  expect(used).toEqual(["first"]);
  resolve("second");
  expect(await Promise.all([one, other])).toEqual(["second", "second"]);
  expect(used).toEqual(["first", "second"]);
});
