import { onTestFinished, expect, test } from "vitest";
import { parseModelEndpoints } from "../../model/model-endpoint.ts";
import { callModel } from "../call-model.ts";
import { OutboundTransport } from "../outbound-transport.ts";
import { startEndpoint } from "./fake-endpoint.ts";

const request = { model: "m", messages: [{ role: "user" as const, content: "Hello" }] };

/** Longest wait for the other side of a connection, on a busy machine. */
const waitMs = 15_000;

async function callAt(url: string, limits: ConstructorParameters<typeof OutboundTransport>[1]) {
  const endpoints = parseModelEndpoints([{ name: "m", url }]);
  const transport = new OutboundTransport(endpoints, limits);
  onTestFinished(() => transport.close());
  return callModel({ endpoint: endpoints[0]!, request, tenantId: "t", transport });
}

test("an endpoint that drips ends at the limit of the whole call, and a silent one at that of a pause", async () => {
  const timers: NodeJS.Timeout[] = [];
  onTestFinished(() => timers.forEach((timer) => clearInterval(timer)));
  const dripping = await startEndpoint((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    timers.push(setInterval(() => response.write(":"), 10));
  });
  const dripped = await callAt(dripping.url, { totalMs: 300 });
  expect(dripped.failure).toMatchObject({ kind: "unreachable" });
  expect(dripped.failure?.message).toMatch(/took longer than 300 ms/);
  await expect.poll(() => dripping.closedEarly, { timeout: waitMs }).toBe(1);
  const silent = await startEndpoint((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(":");
  });
  expect((await callAt(silent.url, { idleMs: 100 })).failure?.message).toMatch(
    /paused for too long/,
  );
});

test("only what the operator named on this machine is called there", async () => {
  const named = parseModelEndpoints([{ name: "m", url: "http://127.0.0.1:1/v1" }]);
  const transport = new OutboundTransport(named);
  onTestFinished(() => transport.close());
  const signal = AbortSignal.timeout(5_000);
  const send = (url: string) =>
    transport.send({ url, headers: {}, body: "", tenantId: "t", signal });
  await expect(send("http://127.0.0.1:2/v1")).rejects.toThrow(/must begin with https/);
  await expect(send("https://127.0.0.1:2/v1")).rejects.toThrow(/an address of the server itself/);
  await expect(send("https://169.254.169.254/")).rejects.toThrow(/credentials/);
  await expect(send("http://127.0.0.1:1/v1")).rejects.toThrow(/127\.0\.0\.1:1/);
});
