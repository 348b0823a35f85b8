import { Client, TimeoutError } from "millrace";
import { expect, onTestFinished, test, vi } from "vitest";
import { scriptedServer } from "../support/scripted-server.ts";

function clientOf(endpoint: string, options: { readonly syncTimeoutMs?: number } = {}): Client {
  const client = new Client({ endpoint, enabled: false, ...options });
  onTestFinished(async () => void (await client.close()));
  return client;
}

test("a call without a response in time throws, and is cancelled at the server", async () => {
  const server = await scriptedServer();
  const { sync } = clientOf(server.endpoint);
  sync.projects.has({ projectName: "first" });
  const began = performance.now();
  const list = (): unknown => sync.projects.list({ projectName: "slow-20000", timeoutMs: 100 });
  expect(list).toThrow(TimeoutError);
  expect(list).toThrow(
    "Failed to make the call client.sync.projects.list: no response within 100 ms; the server may have executed the request",
  );
  expect(performance.now() - began).toBeLessThan(2_000);
  await vi.waitFor(async () => {
    expect(await server.requestCounts()).toMatchObject({ received: 3, aborted: 2 });
  });
});

test("the call after one that timed out gets its own result, never the late one", async () => {
  const server = await scriptedServer();
  const { sync } = clientOf(server.endpoint);
  const read = (name: string, timeoutMs: number): unknown => {
    try {
      return sync.projects.list({ projectName: name, timeoutMs })[0]?.name;
    } catch (error) {
      return (error as TimeoutError).code;
    }
  };
  read("first", 10_000);
  // The limit and the response come at about the same time, so some responses are slightly too late.
  const names = Array.from({ length: 40 }, (_one, index) => `slow-${index % 20}`);
  for (const name of names) {
    expect([name, "TIMEOUT"]).toContain(read(name, 10));
    expect(read(`own-${name}`, 10_000)).toBe(`own-${name}`);
  }
});

test("the client's limit applies to a call without its own limit", async () => {
  const { endpoint } = await scriptedServer();
  const { sync } = clientOf(endpoint, { syncTimeoutMs: 60 });
  expect(() => sync.projects.list({ projectName: "slow-20000" })).toThrow(
    "no response within 60 ms",
  );
  const [project] = sync.projects.list({ projectName: "slow-200", timeoutMs: 10_000 });
  expect(project?.name).toBe("slow-200");
});

test("a limit is a whole number in the option's range", () => {
  const { sync } = clientOf("http://localhost:9");
  for (const timeoutMs of [0, 1.5, Number.NaN, 4_000_000]) {
    expect(() => sync.projects.list({ timeoutMs })).toThrow(
      "timeoutMs must be a whole number from 1 to 3600000",
    );
  }
});
