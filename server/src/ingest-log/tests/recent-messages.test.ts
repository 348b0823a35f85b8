import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RecentMessages } from "../recent-messages.ts";
import type { StoreAgain } from "../recent-messages.ts";

const limits = { keepMs: 10_000, checkMs: 1_000, quietMs: 5_000, bytes: 1_000 };

describe("messages that the log acknowledged", () => {
  const log: { disturbances: number; oldestPosition: number | undefined } = {
    disturbances: 0,
    oldestPosition: undefined,
  };
  let position: number;
  let stored: string[];
  let store: StoreAgain;
  let messages: RecentMessages;
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    stored = [];
    position = 0;
    // Writers store everything at once.
    log.oldestPosition = Infinity;
    store = async (tenantId, message) => {
      stored.push(`${tenantId} ${Buffer.from(message).toString()}`);
      return 1;
    };
    messages = new RecentMessages(log, (tenantId, message) => store(tenantId, message), limits);
  });
  afterEach(async () => {
    await messages.close();
    vi.useRealTimers();
  });

  const add = (text: string): void => {
    position += 1;
    messages.add({ tenantId: "tenant", message: Buffer.from(text), position });
  };
  const disturb = (): void => {
    log.disturbances += 1;
  };

  test("are not stored again without a disturbance, and not after it if they are too old", async () => {
    add("old");
    await vi.advanceTimersByTimeAsync(12_000);
    add("recent");
    disturb();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(stored).toEqual(["tenant recent"]);
  });

  test("are kept until writers have stored them, because a leader may lack old messages, too", async () => {
    log.oldestPosition = 1;
    add("first");
    add("second");
    add("third");
    await vi.advanceTimersByTimeAsync(300_000);
    log.oldestPosition = 3;
    await vi.advanceTimersByTimeAsync(2_000);
    // While the position is unknown, nothing is dropped.
    log.oldestPosition = undefined;
    await vi.advanceTimersByTimeAsync(300_000);
    disturb();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(stored).toEqual(["tenant third"]);
  });

  test("are stored again when no disturbance has followed for a while, those acknowledged meanwhile too", async () => {
    add("before");
    disturb();
    await vi.advanceTimersByTimeAsync(4_000);
    add("meanwhile");
    disturb();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(stored).toEqual([]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(stored).toEqual(["tenant before", "tenant meanwhile"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(messages.storedAgain).toBe(2);
  });

  test("are kept while they can't be stored again", async () => {
    const works = store;
    store = () => Promise.reject(new Error("nothing takes it"));
    add("first");
    add("second");
    disturb();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(messages.storedAgain).toBe(0);
    store = works;
    await vi.advanceTimersByTimeAsync(7_000);
    expect(stored).toEqual(["tenant first", "tenant second"]);
  });

  test("take limited memory: the oldest are no longer kept", async () => {
    add("a".repeat(600));
    add("b".repeat(600));
    disturb();
    await vi.advanceTimersByTimeAsync(7_000);
    expect(stored).toEqual([`tenant ${"b".repeat(600)}`]);
  });

  test("are stored again at once when the server is closed after a disturbance", async () => {
    add("last");
    disturb();
    await messages.close();
    expect(stored).toEqual(["tenant last"]);
  });
});
