import { describe, expect, test } from "vitest";
import { SessionPool } from "../session-pool.ts";
import type { PooledSession, PoolLimits } from "../session-pool.ts";

class TestSession implements PooledSession {
  isUsable = true;
  isClosed = false;

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

const limits: PoolLimits = { size: 2, maxWaiting: 2, waitMs: 10_000, sessionMs: 60_000 };

/** A pool, the sessions that it opened, and a call that runs until it is told to end. */
function createPool(changes: Partial<PoolLimits> = {}) {
  const sessions: TestSession[] = [];
  const pool = new SessionPool<TestSession>(
    async () => {
      const session = new TestSession();
      sessions.push(session);
      return session;
    },
    { ...limits, ...changes },
  );
  const begin = (): { readonly session: Promise<TestSession>; readonly end: () => void } => {
    const { promise, resolve } = createDeferred<void>();
    const started = createDeferred<TestSession>();
    pool
      .use(async (session) => {
        started.resolve(session);
        await promise;
      })
      .catch((cause: unknown) => started.reject(cause));
    return { session: started.promise, end: resolve };
  };
  return { pool, sessions, begin };
}

describe("a pool of sessions", () => {
  test("opens sessions up to its size, and passes each on to the call that waits longest", async () => {
    const { pool, sessions, begin } = createPool();
    const first = begin();
    const second = begin();
    await Promise.all([first.session, second.session]);
    const third = begin();
    await expect.poll(() => pool.counts).toEqual({ open: 2, busy: 2, waiting: 1 });
    first.end();
    expect(await third.session).toBe(await first.session);
    expect(sessions).toHaveLength(2);
    second.end();
    third.end();
    await expect.poll(() => pool.counts).toEqual({ open: 2, busy: 0, waiting: 0 });
  });

  test("refuses calls when too many wait, and calls that waited too long", async () => {
    const { begin } = createPool({ size: 1, maxWaiting: 1, waitMs: 5 });
    await begin().session;
    const waiting = begin();
    await expect(begin().session).rejects.toMatchObject({ status: 503, retryAfterSeconds: 1 });
    await expect(waiting.session).rejects.toThrow("no connection to the database was free");
  });

  test("replaces a session whose connection was lost, also for a call that waits", async () => {
    const { sessions, begin } = createPool({ size: 1 });
    const first = begin();
    const lost = await first.session;
    const second = begin();
    lost.isUsable = false;
    first.end();
    expect(await second.session).toBe(sessions[1]);
    expect(lost.isClosed).toBe(true);
    second.end();
  });

  test("replaces a session after a while", async () => {
    const { pool, sessions } = createPool({ sessionMs: 0 });
    await pool.use(async () => undefined);
    await pool.use(async () => undefined);
    expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  test("reports that no session can be opened, and tries again for the next call", async () => {
    let isReachable = false;
    const pool = new SessionPool<TestSession>(async () => {
      if (!isReachable) {
        throw new Error("unreachable");
      }
      return new TestSession();
    }, limits);
    await expect(pool.use(async () => 1)).rejects.toThrow("unreachable");
    isReachable = true;
    expect(await pool.use(async () => 1)).toBe(1);
    expect(pool.counts).toEqual({ open: 1, busy: 0, waiting: 0 });
  });

  test("completes running calls when it closes, and refuses those that wait", async () => {
    const { pool, sessions, begin } = createPool({ size: 1 });
    const running = begin();
    await running.session;
    const waiting = begin();
    await expect.poll(() => pool.counts.waiting).toBe(1);
    const closed = pool.close();
    await expect(waiting.session).rejects.toThrow("the server is closing");
    expect(sessions[0]?.isClosed).toBe(false);
    running.end();
    await closed;
    expect(sessions[0]?.isClosed).toBe(true);
    await expect(pool.use(async () => 1)).rejects.toThrow("the server is closing");
  });
});

function createDeferred<Value>(): {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (cause: unknown) => void;
} {
  let settle: Pick<ReturnType<typeof createDeferred<Value>>, "resolve" | "reject"> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    resolve: (value) => settle?.resolve(value),
    reject: (cause) => settle?.reject(cause),
  };
}
