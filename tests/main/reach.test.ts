import { createServer, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { isUnreached } from "../../src/delivery/reach.ts";
import { SharedTraffic } from "../../src/model/records/shared-traffic.ts";
import { recordMissingConnection } from "../../src/workers/sinks/missing-connection.ts";

const failure = { at: 0, cause: "connect ECONNREFUSED", isFinal: false } as const;

/** The shared traffic of a thread that has sent its first request. */
function startedTraffic(): SharedTraffic {
  const traffic = new SharedTraffic();
  traffic.countRequest(100);
  return traffic;
}

test("a server does not count as unreachable before a connection failed or a worker had time to open one", async () => {
  const traffic = startedTraffic();
  expect(isUnreached(traffic)).toBe(false);
  await recordMissingConnection(traffic);
  expect(isUnreached(traffic)).toBe(true);
  traffic.countConnection();
  expect(isUnreached(traffic)).toBe(false);
});

test("a server that refuses connections counts as unreachable at once", () => {
  const traffic = startedTraffic();
  traffic.recordFailure(failure);
  expect(isUnreached(traffic)).toBe(true);
  traffic.countConnection();
  expect(isUnreached(traffic)).toBe(false);
});

test("a server that responds in another protocol counts as unreachable", () => {
  const traffic = startedTraffic();
  traffic.countConnection();
  traffic.recordFailure({ ...failure, status: 200 });
  expect(isUnreached(traffic)).toBe(true);
});

test("a thread that is too busy to notice its connection does not make the server count as unreachable", async () => {
  const server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const traffic = startedTraffic();
  const noted = vi.spyOn(traffic, "recordUnconnected");
  const watch = recordMissingConnection(traffic);
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("connect", () => traffic.countConnection());
  onTestFinished(() => void socket.destroy());
  const deadline = performance.now() + 1_500;
  while (performance.now() < deadline) {
    // Busy, like a worker that serializes bodies.
  }
  await watch;
  expect(noted).not.toHaveBeenCalled();
  expect(isUnreached(traffic)).toBe(false);
});
