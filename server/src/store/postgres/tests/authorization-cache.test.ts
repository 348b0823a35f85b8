import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testServerUrl } from "../../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../../tests/support/postgres-stores.ts";
import { TcpProxy } from "../../../../tests/support/tcp-proxy.ts";
import type { Store } from "../../store.ts";
import { AuthorizationCache } from "../authorization-cache.ts";
import type { AuthorizationLimits, AuthorizationQuery } from "../authorization-cache.ts";

interface Asked {
  readonly query: AuthorizationQuery;
  readonly answer: (value: unknown) => void;
  readonly fail: (cause: Error) => void;
}

/** A database whose answers the test gives, one after the other. */
function createCache(limits: Partial<AuthorizationLimits> = {}) {
  const asked: Asked[] = [];
  const clock = { nowMs: 0 };
  const cache = new AuthorizationCache(
    (query) =>
      new Promise((answer, fail) => {
        asked.push({ query, answer, fail });
      }),
    { answerWaitMs: 10, maxAnswerAgeMs: 1_000, ...limits },
    () => clock.nowMs,
  );
  return { cache, asked, clock };
}

const findKey = (key: string): AuthorizationQuery => ({ method: "findByKey", args: [key] });
const access = { id: "1", name: "key", tenantId: "t", scopes: ["admin"] };

/** Reads with an answer. */
async function readAnswered(
  { cache, asked }: ReturnType<typeof createCache>,
  query: AuthorizationQuery,
  value: unknown,
): Promise<unknown> {
  const reading = cache.read(query);
  asked.at(-1)?.answer(value);
  return reading;
}

describe("while the database answers", () => {
  test("it is asked each time, so a revoked key stops working at once", async () => {
    const fake = createCache();
    expect(await readAnswered(fake, findKey("a"), access)).toEqual(access);
    expect(await readAnswered(fake, findKey("a"), undefined)).toBeUndefined();
    expect(fake.asked).toHaveLength(2);
  });

  test("it is not asked again whether keys exist once there is one", async () => {
    const fake = createCache();
    const query = { method: "hasKeys", args: [] } as const;
    expect(await readAnswered(fake, query, false)).toBe(false);
    expect(await readAnswered(fake, query, true)).toBe(true);
    expect(await fake.cache.read(query)).toBe(true);
    expect(fake.asked).toHaveLength(2);
  });
});

describe("while the database does not answer", () => {
  test("a known key works, after a short wait and then without one", async () => {
    const fake = createCache();
    await readAnswered(fake, findKey("a"), access);
    expect(await fake.cache.read(findKey("a"))).toEqual(access);
    // The query of the previous request is still under way, and is the only one.
    expect(await fake.cache.read(findKey("a"))).toEqual(access);
    expect(fake.asked).toHaveLength(2);
  });

  test("a known key works if the database reports an error", async () => {
    const fake = createCache();
    await readAnswered(fake, findKey("a"), access);
    const reading = fake.cache.read(findKey("a"));
    fake.asked[1]?.fail(new Error("the connection was lost"));
    expect(await reading).toEqual(access);
    // The next request asks whether the database is back.
    expect(await fake.cache.read(findKey("a"))).toEqual(access);
    expect(fake.asked).toHaveLength(3);
  });

  test("a known key stops working when its time is over", async () => {
    const fake = createCache();
    await readAnswered(fake, findKey("a"), access);
    fake.clock.nowMs = 1_000;
    expect(await fake.cache.read(findKey("a"))).toEqual(access);
    fake.clock.nowMs = 1_001;
    const reading = fake.cache.read(findKey("a"));
    fake.asked.at(-1)?.fail(new Error("away"));
    await expect(reading).rejects.toThrow("away");
  });

  test("a key that is not known waits for the database", async () => {
    const fake = createCache();
    await readAnswered(fake, findKey("a"), access);
    await fake.cache.read(findKey("a"));
    const reading = fake.cache.read(findKey("b"));
    fake.asked.at(-1)?.fail(new Error("away"));
    await expect(reading).rejects.toThrow("away");
  });

  test("a key that was found to be revoked does not work", async () => {
    const fake = createCache();
    await readAnswered(fake, findKey("a"), access);
    await readAnswered(fake, findKey("a"), undefined);
    const reading = fake.cache.read(findKey("a"));
    fake.asked.at(-1)?.fail(new Error("away"));
    await expect(reading).rejects.toThrow("away");
  });
});

test("the database is asked each time again when it is back", async () => {
  const fake = createCache();
  await readAnswered(fake, findKey("a"), access);
  await fake.cache.read(findKey("a"));
  const probed = fake.asked.at(-1);
  probed?.answer(access);
  await expect.poll(() => readAnswered(fake, findKey("a"), undefined)).toBeUndefined();
});

test("an answer that arrives late does not make a revoked key valid", async () => {
  const fake = createCache();
  await readAnswered(fake, findKey("a"), access);
  await fake.cache.read(findKey("a"));
  const late = fake.asked.at(-1);
  // Another request without a known answer shows that the database is back, and then the key is found to be revoked.
  await readAnswered(fake, findKey("b"), access);
  await readAnswered(fake, findKey("a"), undefined);
  late?.answer(access);
  const reading = fake.cache.read(findKey("a"));
  fake.asked.at(-1)?.fail(new Error("away"));
  await expect(reading).rejects.toThrow("away");
});

test("unknown keys do not displace those that are known", async () => {
  const fake = createCache({ maxAnswers: 2 });
  await readAnswered(fake, findKey("a"), access);
  for (let number = 0; number < 10; number += 1) {
    await readAnswered(fake, findKey(`unknown ${number}`), undefined);
  }
  expect(await fake.cache.read(findKey("a"))).toEqual(access);
});

test("the least recently used answer is dropped when there are too many", async () => {
  const fake = createCache({ maxAnswers: 2 });
  for (const key of ["a", "b", "a", "c"]) {
    await readAnswered(fake, findKey(key), access);
  }
  expect(await fake.cache.read(findKey("a"))).toEqual(access);
  const reading = fake.cache.read(findKey("b"));
  fake.asked.at(-1)?.fail(new Error("away"));
  await expect(reading).rejects.toThrow("away");
});

describe.skipIf(testServerUrl === undefined)("two servers on one PostgreSQL database", () => {
  let fixture: PostgresStores;
  let proxy: TcpProxy;
  let first: Store;
  let second: Store;
  beforeAll(async () => {
    fixture = await PostgresStores.create();
    const url = new URL(fixture.database.url);
    proxy = await TcpProxy.start(Number(url.port === "" ? 5_432 : url.port));
    first = await fixture.open();
    url.host = `127.0.0.1:${proxy.port}`;
    second = await fixture.open(url.href);
  });
  afterAll(async () => {
    proxy.restore();
    await fixture.close();
    await proxy[Symbol.asyncDispose]();
  });

  test("a key works on a server that is cut off, and a revoked one stops at once when it is back", async () => {
    const tenantId = (await first.write.tenants.create({ handle: null, displayName: randomUUID() }))
      .id;
    const { id, key } = await first.write.tenants.createKey(tenantId, { name: "key" });
    expect(await second.read.tenants.findByKey(key)).toMatchObject({ tenantId });
    expect(await second.read.tenants.hasKeys()).toBe(true);
    for (const cut of ["silence", "refuse"] as const) {
      proxy[cut]();
      expect(await second.read.tenants.findByKey(key)).toMatchObject({ tenantId });
      expect(await second.read.tenants.hasKeys()).toBe(true);
      // The check of health asks the database itself.
      const checked = second.assertAnswers().then(() => "answers");
      const timeout = new Promise((resolve) => {
        setTimeout(resolve, 200, "does not answer");
      });
      expect(await Promise.race([checked, timeout])).toBe("does not answer");
      proxy.restore();
      expect(await checked).toBe("answers");
    }
    await first.write.tenants.revokeKey(id);
    await expect.poll(() => second.read.tenants.findByKey(key)).toBeUndefined();
    expect(await first.read.tenants.findByKey(key)).toBeUndefined();
  });
});
