import { afterEach, expect, test, vi } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client } from "../../src/main/client.ts";
import type { ClientOptions } from "../../src/main/client.ts";
import { loopbackServer } from "../support/loopback-server.ts";

const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function clientTo(endpoint: string, options: ClientOptions = {}): Client {
  const client = new Client({ endpoint, projectName: "told", firstDelayMs: 0, ...options });
  clients.push(client);
  return client;
}

/** Records two tapes: when the second is sent, the worker has received the server's `/info`. */
async function recordTwice(client: Client): Promise<void> {
  client.startRun({ name: "one" }).end();
  await client.flush();
  await vi.waitFor(
    async () => {
      client.startRun({ name: "more" }).end();
      await client.flush();
      expect(client.stats().server).toBeDefined();
    },
    { timeout: 10_000 },
  );
}

const info = (flags: Readonly<Record<string, boolean>>) => ({
  status: 200,
  body: JSON.stringify({ version: "0.10.0", instance_flags: flags }),
});

const pathsOf = (requests: readonly { readonly path: string }[]) =>
  requests.map(({ path }) => path).filter((path) => path.startsWith("/ui/"));

test("a server that announces support gets the client's counters, with the client's key", async () => {
  await using server = await loopbackServer({ info: info({ millrace_sender_stats: true }) });
  const client = clientTo(server.endpoint, { apiKey: "a-key-of-a-test" });
  await recordTwice(client);
  await vi.waitFor(() => expect(pathsOf(server.requests)).toEqual(["/ui/senders"]), 10_000);
  const report = server.requests.find(({ path }) => path === "/ui/senders")!;
  expect(report.headers["x-api-key"]).toBe("a-key-of-a-test");
  const { accepted, delivered, lost } = client.stats();
  expect(JSON.parse(report.body.toString())).toMatchObject({
    project: "told",
    pid: process.pid,
    accepted,
    delivered,
    pending: 0,
  });
  expect(Object.values(lost).every((count) => count === 0)).toBe(true);
});

test.each([
  ["a server that does not ask", { gzip_body_enabled: true }, {}],
  ["any server, where the option is off", { millrace_sender_stats: true }, { reportStats: false }],
])("%s gets no report", async (_, flags, options) => {
  await using server = await loopbackServer({ info: info(flags) });
  const client = clientTo(server.endpoint, options);
  vi.useFakeTimers({ toFake: ["setTimeout"], shouldAdvanceTime: true });
  await recordTwice(client);
  await vi.advanceTimersByTimeAsync(6_000);
  vi.useRealTimers();
  expect(pathsOf(server.requests)).toEqual([]);
});

test("a refused report is no loss, and is not tried again", async () => {
  await using server = await loopbackServer({
    info: info({ millrace_sender_stats: true }),
    onBegin: ({ url }, response) => {
      if (url === "/ui/senders") {
        response.writeHead(500).end();
      }
    },
  });
  const client = clientTo(server.endpoint);
  await recordTwice(client);
  await vi.waitFor(() => expect(pathsOf(server.requests)).toHaveLength(1), 10_000);
  const { accepted, delivered, retries } = client.stats();
  expect({ delivered, retries }).toEqual({ delivered: accepted, retries: 0 });
});

test("the local server shows the counters that clients reported", async () => {
  const server = await runServer();
  const client = clientTo(server.url);
  await recordTwice(client);
  await vi.waitFor(
    async () => {
      const controller = new AbortController();
      const response = await fetch(`${server.url}/ui/live`, { signal: controller.signal });
      const chunks = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      const { value } = (await chunks.read()) as { value: string };
      controller.abort();
      expect(value).toContain('"project":"told"');
    },
    { timeout: 10_000 },
  );
});
