import { afterEach, expect, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client } from "../../src/main/index.ts";
import type { ClientOptions, ExchangeRun, Run } from "../../src/main/index.ts";

const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** A client that sends from a worker, unless `workers` is 0: the first flush is sent by the main thread. */
async function clientTo(endpoint: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ endpoint, logger: { warn: () => undefined }, ...options });
  clients.push(client);
  await client.flush();
  return client;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** An exchange of a format that no reader knows: its bodies are recorded as text. */
const unknownFormat = "test.unknown" as "openai.chat";

/** Records a call that gets a response with this text. */
function recordCall(client: Client, response: string, status = 200): ExchangeRun {
  const exchange = client.recordExchange({
    format: unknownFormat,
    name: "call",
    request: "the request",
    metadata: { own: 1 },
    tags: ["a tag"],
  });
  exchange.respond({ status, contentType: "text/plain" });
  exchange.addChunk(bytes(response));
  exchange.end();
  return exchange;
}

const readStored = async (client: Client, exchange: ExchangeRun): Promise<Run> => {
  await client.flush();
  return client.runs.read(exchange.run.id);
};

test.each([0, 1])(
  "an exchange is a run whose payloads a worker reads from the bytes, with %i workers",
  async (workers) => {
    const { url } = await runServer();
    const client = await clientTo(url, { workers });
    const parent = client.startRun({ name: "parent" });
    const exchange = client.recordExchange({
      format: unknownFormat,
      name: "call",
      request: "the request",
      metadata: { own: 1 },
      parent,
    });
    exchange.respond({ status: 200 });
    const chunk = bytes("first, ");
    exchange.addChunk(chunk);
    chunk.fill(0);
    exchange.addChunk(bytes("second"));
    exchange.end();
    parent.end();
    const run = await readStored(client, exchange);
    expect(run).toMatchObject({
      name: "call",
      runType: "llm",
      parentRunId: parent.id,
      inputs: { body: "the request" },
      outputs: { body: "first, second" },
      status: "success",
    });
    expect(run.extra?.metadata).toMatchObject({
      own: 1,
      millrace_exchange_warnings: ['The format "test.unknown" is not known'],
    });
    expect(run.events).toMatchObject([{ name: "attempt", kwargs: { attempt: 1, status: 200 } }]);
    expect(client.stats()).toMatchObject({ accepted: 4, delivered: 4 });
  },
);

test("a start and an end that are delivered apart make the same run", async () => {
  const { url } = await runServer();
  const client = await clientTo(url);
  const exchange = client.recordExchange({ format: unknownFormat, request: "the request" });
  await client.flush();
  await expect(client.runs.read(exchange.run.id)).resolves.toMatchObject({
    name: "test.unknown",
    status: "pending",
    inputs: { body: "the request" },
  });
  exchange.respond({ status: 503 });
  exchange.addChunk(bytes("overloaded"));
  exchange.end();
  await expect(readStored(client, exchange)).resolves.toMatchObject({
    inputs: { body: "the request" },
    outputs: { body: "overloaded" },
    error: "The response has status 503",
    status: "error",
  });
});
void recordCall;
