import { describe, expect, test, vi } from "vitest";
import { PromptCache } from "../../src/api/prompts/prompt-cache.ts";
import type { PromptCacheOptions, PromptRequest } from "../../src/api/prompts/prompt-cache.ts";
import { Deferred } from "../../src/model/deferred.ts";
import { HttpError, NetworkError, NotFoundError, ResponseError } from "../../src/model/errors.ts";
import { PromptCounts } from "../../src/model/records/prompt-counts.ts";
import { parsePromptReference } from "../../src/model/resources/prompt-identifier.ts";
import type { PulledPrompt } from "../../src/model/resources/prompt.ts";
import { hash, older } from "../support/prompt-wire.ts";

const prompt = (commitHash = hash, text = "hi"): PulledPrompt => ({
  owner: "-",
  repo: "greeting",
  commitHash,
  manifest: { text, nested: { list: [{ a: 1 }] } },
  examples: [],
});

const down = () => new NetworkError("Failed to pull prompt commit: connect ECONNREFUSED");
const gone = () => new NotFoundError({ action: "pull prompt commit", status: 404, body: "" });

/** A cache whose server is a script: each request gets the next response; the last one repeats. */
function cacheWith(
  responses: readonly (PulledPrompt | Error | Promise<PulledPrompt>)[],
  options: Partial<PromptCacheOptions> = {},
) {
  const script = [...responses];
  const clock = { now: 1_000_000 };
  const warnings: string[] = [];
  const counts = new PromptCounts();
  const requests: (number | undefined)[] = [];
  const cache = new PromptCache({
    ttlMs: 60_000,
    waitMs: 5_000,
    maxPrompts: 100,
    maxBytes: 1_000_000,
    snapshots: undefined,
    counts,
    warn: (message) => warnings.push(message),
    now: () => clock.now,
    ...options,
  });
  const pull = async ({ attempts }: { readonly attempts?: number }): Promise<PulledPrompt> => {
    requests.push(attempts);
    const response = script.length > 1 ? script.shift() : script[0];
    if (response instanceof Error || response === undefined) {
      throw response ?? new Error("no response left");
    }
    return response;
  };
  const get = (identifier = "greeting", request: Partial<PromptRequest> = {}) =>
    cache.get({
      reference: parsePromptReference(identifier),
      includeModel: false,
      pull,
      ...request,
    });
  return { cache, clock, counts, get, requests, script, warnings };
}

/** Lets the requests in the background finish. */
const settle = () => new Promise(setImmediate);

describe("memory", () => {
  test("a prompt comes from the server once, then from memory until it expires", async () => {
    const { get, clock, requests, counts } = cacheWith([prompt()]);
    expect(await get()).toStrictEqual({
      ...prompt(),
      name: "greeting",
      source: "server",
      fetchedAt: clock.now,
    });
    clock.now += 59_999;
    expect(await get()).toMatchObject({ source: "memory", commitHash: hash });
    expect(requests).toHaveLength(1);
    expect(counts.read()).toEqual({ server: 1, memory: 1, stale: 0, snapshot: 0, fallback: 0 });
  });

  test("an expired prompt is served at once while one request fetches the new one", async () => {
    const next = new Deferred<PulledPrompt>();
    const { get, clock, requests } = cacheWith([prompt(), next.promise]);
    await get();
    clock.now += 60_000;
    const served = await Promise.all(Array.from({ length: 100 }, () => get()));
    expect(new Set(served.map(({ source, commitHash }) => `${source} ${commitHash}`))).toEqual(
      new Set([`stale ${hash}`]),
    );
    expect(requests).toHaveLength(2);
    next.resolve(prompt(older));
    await settle();
    expect(await get()).toMatchObject({ source: "memory", commitHash: older });
  });

  test("a hundred callers share one request", async () => {
    const first = new Deferred<PulledPrompt>();
    const { get, requests, counts } = cacheWith([first.promise]);
    const calls = Array.from({ length: 100 }, () => get());
    first.resolve(prompt());
    const served = await Promise.all(calls);
    expect(requests).toHaveLength(1);
    expect(new Set(served.map(({ manifest }) => manifest)).size).toBe(1);
    expect(counts.read().server).toBe(100);
  });

  test("a commit named by its hash never expires, a tag does", async () => {
    const { get, clock, requests } = cacheWith([prompt()]);
    await get(`greeting:${hash.slice(0, 8)}`);
    await get("greeting:prod");
    clock.now += 1_000 * 86_400_000;
    expect(await get(`greeting:${hash.slice(0, 8)}`)).toMatchObject({ source: "memory" });
    expect(await get("greeting:prod")).toMatchObject({ source: "stale" });
    expect(requests).toHaveLength(3);
  });

  test("ttlMs 0 asks the server each time", async () => {
    const { get, requests } = cacheWith([prompt(), prompt(older)]);
    expect(await get("greeting", { ttlMs: 0 })).toMatchObject({ commitHash: hash });
    expect(await get("greeting", { ttlMs: 0 })).toMatchObject({
      source: "server",
      commitHash: older,
    });
    expect(requests).toHaveLength(2);
  });

  test("the prompt that was not used for the longest time is evicted", async () => {
    const { get, requests } = cacheWith([prompt()], { maxPrompts: 2 });
    await get("a");
    await get("b");
    await get("a");
    await get("c");
    expect(await get("a")).toMatchObject({ source: "memory" });
    expect(requests).toHaveLength(3);
    expect(await get("b")).toMatchObject({ source: "server" });
  });

  test("memory is bounded in bytes, and a prompt above the limit is served but not kept", async () => {
    const { get, warnings } = cacheWith([prompt(hash, "x".repeat(600))], { maxBytes: 1_000 });
    await get("a");
    await get("b");
    expect(await get("b")).toMatchObject({ source: "memory" });
    expect(await get("a")).toMatchObject({ source: "server" });
    const small = cacheWith([prompt(hash, "x".repeat(1_000))], { maxBytes: 1_000 });
    await small.get();
    expect(await small.get()).toMatchObject({ source: "server" });
    expect(small.warnings[0]).toMatch(/not kept in memory.*maxPromptCacheBytes/);
    expect(warnings).toEqual([]);
  });

  test("prompts with and without their model are kept apart", async () => {
    const { get, requests } = cacheWith([prompt()]);
    await get();
    expect(await get("greeting", { includeModel: true })).toMatchObject({ source: "server" });
    expect(requests).toHaveLength(2);
  });

  test("no caller can change the prompt of another", async () => {
    const { get } = cacheWith([prompt()]);
    const { manifest } = await get();
    const nested = manifest["nested"] as { list: { a: number }[] };
    expect(() => nested.list.push({ a: 2 })).toThrow(TypeError);
    expect(() => Object.assign(nested.list[0] as object, { a: 3 })).toThrow(TypeError);
    expect((await get()).manifest).toEqual(prompt().manifest);
  });

  test("no timer remains", async () => {
    vi.useFakeTimers();
    try {
      const { get } = cacheWith([prompt()]);
      await get();
      await get("other", { fallback: {} });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("failures", () => {
  test("a stale prompt says why the refresh failed, and the server is not asked again at once", async () => {
    const { get, clock, requests, warnings } = cacheWith([prompt(), down(), prompt(older)]);
    await get();
    clock.now += 60_000;
    expect(await get()).not.toHaveProperty("reason");
    await settle();
    expect(await get()).toMatchObject({
      source: "stale",
      reason: "Failed to pull prompt commit: connect ECONNREFUSED",
    });
    expect(requests).toHaveLength(2);
    expect(warnings).toEqual([
      'prompts.get("greeting") returned an expired version: Failed to pull prompt commit: connect ECONNREFUSED',
    ]);
    clock.now += 10_000;
    await get();
    await settle();
    expect(await get()).toMatchObject({ source: "memory", commitHash: older });
  });

  test("a background request is sent once, one without a substitute as often as configured", async () => {
    const { get, requests } = cacheWith([down()]);
    await get("greeting", { fallback: {} });
    await expect(get("greeting")).rejects.toThrow("ECONNREFUSED");
    expect(requests).toEqual([1, undefined]);
  });

  test("a caller without a fallback asks again after sharing a request that was sent once", async () => {
    const first = new Deferred<PulledPrompt>();
    const { get, requests } = cacheWith([first.promise, prompt()]);
    const withFallback = get("greeting", { fallback: { f: 1 } });
    const without = get("greeting");
    first.reject(down());
    expect(await withFallback).toMatchObject({ source: "fallback", manifest: { f: 1 } });
    expect(await without).toMatchObject({ source: "server" });
    expect(requests).toEqual([1, undefined]);
  });

  test("the fallback is served at once after a failure, and replaced when the server is back", async () => {
    const { get, clock, requests } = cacheWith([down(), prompt()]);
    const fallback = { text: "offline" };
    const served = await get("greeting", { fallback });
    expect(served).toMatchObject({ source: "fallback", manifest: fallback, owner: "-" });
    expect(served).not.toHaveProperty("commitHash");
    await get("greeting", { fallback });
    expect(requests).toHaveLength(1);
    clock.now += 10_000;
    expect(await get("greeting", { fallback })).toMatchObject({ source: "fallback" });
    await settle();
    expect(await get("greeting", { fallback })).toMatchObject({ source: "memory" });
  });

  test("a server that hangs delays a call with a fallback by waitMs, and later calls not at all", async () => {
    const hanging = new Deferred<PulledPrompt>();
    const { get, requests } = cacheWith([hanging.promise]);
    const options = { fallback: {}, waitMs: 30 };
    const start = performance.now();
    expect(await get("greeting", options)).toMatchObject({
      source: "fallback",
      reason: "the server did not respond in time (waitMs)",
    });
    // Node rounds down the time at which a timer is due, so it may end more than a millisecond early.
    expect(performance.now() - start).toBeGreaterThanOrEqual(27);
    const second = performance.now();
    await get("greeting", options);
    expect(performance.now() - second).toBeLessThan(25);
    expect(requests).toHaveLength(1);
    hanging.resolve(prompt());
    await settle();
    expect(await get("greeting", options)).toMatchObject({ source: "memory" });
  });

  test("404 is final: no older version is served, only the fallback", async () => {
    const { get, clock } = cacheWith([prompt(), gone()]);
    await get();
    clock.now += 60_000;
    await get();
    await settle();
    await expect(get()).rejects.toBeInstanceOf(NotFoundError);
    expect(await get("greeting", { fallback: { f: 1 } })).toMatchObject({ source: "fallback" });
    const waiting = cacheWith([prompt(), gone()]);
    await waiting.get();
    await expect(waiting.get("greeting", { ttlMs: 0 })).rejects.toBeInstanceOf(NotFoundError);
  });

  test("with ttlMs 0 a failed request is answered with the older version", async () => {
    const failure = new HttpError({ action: "pull prompt commit", status: 500, body: "oops" });
    const { get } = cacheWith([prompt(), failure]);
    await get();
    expect(await get("greeting", { ttlMs: 0 })).toMatchObject({
      source: "stale",
      reason: "Failed to pull prompt commit: 500 oops",
    });
  });

  test("a failure without a substitute keeps its class and says how to be prepared", async () => {
    const failures = [
      down(),
      new HttpError({ action: "pull prompt commit", status: 503, body: "busy" }),
      new ResponseError("Failed to pull prompt commit: the response is not JSON."),
    ];
    for (const failure of failures) {
      const error: unknown = await cacheWith([failure])
        .get()
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(failure.constructor);
      expect(error).toMatchObject({
        cause: failure,
        code: failure.code,
        message: expect.stringMatching(
          /pass prompts\.get a fallback, or set promptSnapshotDir/,
        ) as string,
      });
    }
  });

  test("another commit than the requested one is refused", async () => {
    const { get } = cacheWith([prompt(older)]);
    await expect(get(`greeting:${hash}`)).rejects.toThrow(/sent the commit fedc.* instead of 0123/);
  });

  test("a manifest of any depth ends as an error or a prompt, not as an exhausted stack", async () => {
    const text = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;
    const manifest = JSON.parse(text) as PulledPrompt["manifest"];
    const { get } = cacheWith([{ ...prompt(), manifest }]);
    await expect(get()).rejects.toThrow("nested too deeply");
    const flat = JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`) as unknown;
    const shallow = cacheWith([{ ...prompt(), manifest: { flat } }]);
    expect(await shallow.get()).toMatchObject({ source: "server" });
  });

  test("an aborted caller leaves, and the others get the prompt", async () => {
    const first = new Deferred<PulledPrompt>();
    const { get } = cacheWith([first.promise]);
    const controller = new AbortController();
    const leaving = get("greeting", { signal: controller.signal });
    const staying = get("greeting");
    controller.abort(new Error("enough"));
    await expect(leaving).rejects.toMatchObject({ code: "ABORTED", cause: new Error("enough") });
    first.resolve(prompt());
    expect(await staying).toMatchObject({ source: "server" });
    await expect(get("greeting", { signal: controller.signal })).rejects.toThrow("aborted");
  });
});
