import type { Connection } from "../../src/model/options/connection.ts";
import { SharedTraffic } from "../../src/model/records/shared-traffic.ts";
import { createDispatcher } from "../../src/transport/dispatcher.ts";
import type { CreateTransport } from "../../src/transport/transport.ts";
import { HttpSink } from "../../src/workers/sinks/http-sink.ts";
import { ServerState } from "../../src/workers/sinks/server-state.ts";
import type { Outcome } from "../../src/workers/sinks/sink.ts";
import { batchOf, manyRuns } from "./run-batch.ts";

/** Connection options for a test's server: a short timeout and no compression. */
export const createTestConnection = (
  endpoint: string,
  options: Partial<Connection> = {},
): Connection => ({
  endpoint,
  timeoutMs: 5_000,
  requestsInFlight: 4,
  compression: "none",
  ...options,
});

export interface TestSink extends AsyncDisposable {
  readonly sink: HttpSink;
  readonly state: ServerState;
  readonly traffic: SharedTraffic;
}

/** A sink over real connections, which its disposal closes. */
export function createTestSink(
  endpoint: string,
  options: Partial<Connection> = {},
  createTransport: CreateTransport = createDispatcher,
): TestSink {
  const connection = createTestConnection(endpoint, options);
  const transport = createTransport(connection, 4_194_304, () => undefined);
  const traffic = new SharedTraffic();
  const state = new ServerState(connection);
  const sink = new HttpSink({ connection, transport, state, traffic });
  return { sink, state, traffic, [Symbol.asyncDispose]: () => transport.destroy() };
}

/** A signal that never aborts. */
export const neverAborted = (): AbortSignal => new AbortController().signal;

/** Sends a batch of one run over new connections, and returns its outcome. */
export async function sendOne(
  endpoint: string,
  options: Partial<Connection> = {},
  createTransport: CreateTransport = createDispatcher,
): Promise<Outcome> {
  await using testSink = createTestSink(endpoint, options, createTransport);
  return await testSink.sink.send(batchOf(manyRuns(1)), neverAborted());
}
