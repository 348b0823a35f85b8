import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { KeyValues } from "../../main/index.ts";
import { MessageRuns } from "./message-runs.ts";
import type { TraceMessagesOptions } from "./message-runs.ts";

export type { TraceMessagesOptions } from "./message-runs.ts";

/** The name with which an MCP client or server identifies itself when the connection is made. */
interface PeerVersion {
  readonly name: string;
}

/** A `Client` of `@modelcontextprotocol/sdk`. */
export interface McpClient {
  connect(transport: Transport): Promise<void>;
  readonly transport?: Transport | undefined;
  getServerVersion(): PeerVersion | undefined;
}

/** A `Server` of `@modelcontextprotocol/sdk`. */
export interface LowLevelServer {
  connect(transport: Transport): Promise<void>;
  readonly transport?: Transport | undefined;
  getClientVersion(): PeerVersion | undefined;
}

/** A `McpServer` of `@modelcontextprotocol/sdk`. */
export interface HighLevelServer {
  readonly server: LowLevelServer;
}

/**
 * Records the requests of an MCP client: a run of type `tool` for each tool call, `prompt` for each prompt that it
 * gets, and `retriever` for each resource that it reads. A run fails if the server responds with an error or with
 * `isError`, if the request is cancelled or times out, or if the connection closes. Requests from the server to the
 * client, such as sampling, are recorded when the client handles them.
 *
 * Each request identifies its run in `_meta`, as W3C Trace Context (`traceparent`) and for Millrace and LangSmith
 * (`langsmith-trace`), so that a traced server continues the trace. Requests are not changed otherwise.
 *
 * Changes `client`, and returns it. A second call has no effect. Never throws.
 */
export function traceClient<Traced extends McpClient>(
  client: Traced,
  options: TraceMessagesOptions = {},
): Traced {
  observeProtocol(client, options, () => toMetadata("mcp_server", client.getServerVersion()));
  return client;
}

/**
 * Records a run for each request that an MCP server handles. It is a child of the run or span that the request
 * identifies in `_meta`, or else of the current run, such as that of the HTTP request. Runs that the handler starts are
 * its descendants. A run fails if the handler throws or returns `isError`, if the request is cancelled, or if the
 * connection closes. Requests from the server to its client, such as sampling, are recorded, and identify their runs in
 * `_meta`. The requests `initialize` and `ping` are not recorded.
 *
 * Changes `server`, and returns it. A second call has no effect. Never throws.
 */
export function traceServer<Traced extends LowLevelServer | HighLevelServer>(
  server: Traced,
  options: TraceMessagesOptions = {},
): Traced {
  const protocol: LowLevelServer = "server" in server ? server.server : server;
  observeProtocol(protocol, options, () => toMetadata("mcp_client", protocol.getClientVersion()));
  return server;
}

/** The clients, servers and transports that are already observed. */
const observed = new WeakSet<object>();

/** Observes the current transport of a client or server, and every transport to which it connects later. */
function observeProtocol(
  protocol: McpClient | LowLevelServer,
  options: TraceMessagesOptions,
  describePeer: () => KeyValues,
): void {
  if (observed.has(protocol)) {
    return;
  }
  observed.add(protocol);
  const { transport } = protocol;
  if (transport !== undefined) {
    const runs = new MessageRuns(options, describePeer);
    observeSent(transport, runs);
    observeReceived(transport, runs);
  }
  const connect = protocol.connect.bind(protocol);
  protocol.connect = (nextTransport, ...otherArguments) => {
    if (!observed.has(nextTransport)) {
      const runs = new MessageRuns(options, describePeer);
      observeSent(nextTransport, runs);
      // The SDK sets its callbacks after this call, and before it starts the transport.
      const start = nextTransport.start.bind(nextTransport);
      nextTransport.start = () => {
        observeReceived(nextTransport, runs);
        return start();
      };
    }
    return connect(nextTransport, ...otherArguments);
  };
}

function observeSent(transport: Transport, runs: MessageRuns): void {
  observed.add(transport);
  const send = transport.send.bind(transport);
  transport.send = (message, options) => runs.send(message, (sent) => send(sent, options));
}

function observeReceived(transport: Transport, runs: MessageRuns): void {
  const { onmessage, onclose } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no such method
  transport.onmessage = (message, extra) => {
    runs.receive(message, () => onmessage?.call(transport, message, extra));
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no such method
  transport.onclose = () => {
    runs.close();
    onclose?.call(transport);
  };
}

const toMetadata = (key: string, peer: PeerVersion | undefined): KeyValues =>
  peer === undefined ? {} : { [key]: peer.name };
