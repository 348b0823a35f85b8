import { describe, expect, onTestFinished, test, vi } from "vitest";
import { testServerUrl } from "../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../tests/support/postgres-stores.ts";
import { TcpProxy } from "../../../tests/support/tcp-proxy.ts";
import { DailyIngest } from "../daily-ingest.ts";
import type { IngestCountStore } from "../daily-ingest.ts";

/** Longer than the test: it exchanges the counts itself. */
const intervalMs = 3_600_000;
/** The statement that stores a count, and the commit after it, on one connection. */
const commit = /insert into "ingest_counts"[^]*COMMIT/;

describe.skipIf(testServerUrl === undefined)("on PostgreSQL", () => {
  test("bytes whose commit took effect, but was not answered, count once", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const stores = await PostgresStores.create();
    onTestFinished(() => stores.close());
    const url = new URL(stores.database.url);
    const proxy = await TcpProxy.start(Number(url.port === "" ? 5_432 : url.port));
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    url.host = `127.0.0.1:${proxy.port}`;
    const store: IngestCountStore = await stores.open(url.href);
    const daily = new DailyIngest(store, { intervalMs });

    daily.add("tenant", 10);
    const lost = proxy.loseAnswer(commit);
    await daily.exchange();
    await lost;
    expect(warn.mock.calls.map(String)).toEqual([expect.stringContaining("can't be counted")]);
    await daily.close();

    const later = new DailyIngest(store, { intervalMs });
    expect(await later.read("tenant")).toBe(10);
    await later.close();
  });
});
