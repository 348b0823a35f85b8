import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { Client, currentRun, RunTree, withRun } from "../../main/index.ts";
import type { KeyValues, NewRunOptions, RunOptions } from "../../main/index.ts";
import { readTraceContext, writeTraceContext } from "./trace-context.ts";

/** Options of `traceClient` and `traceServer`. */
export interface TraceMessagesOptions extends Pick<NewRunOptions, "client" | "tags" | "metadata"> {
  /**
   * Whether the tags and the metadata of runs are sent to the peer in `_meta.baggage`, so that its runs inherit them.
   * Leave it off if the peer belongs to somebody else.
   *
   * @defaultValue false
   */
  readonly sendMetadata?: boolean | undefined;
}

/** A message of JSON-RPC. It is a request, a response or a notification. */
type Message = Parameters<Transport["send"]>[0];
type Params = Readonly<Record<string, unknown>>;
type RequestId = string | number;

/** A request that this side sent or received. */
interface RequestMessage {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
}

/**
 * The runs of the requests on one connection, in both directions. A run ends when the response arrives, when the
 * request is cancelled, or when the connection closes.
 */
export class MessageRuns {
  readonly #options: TraceMessagesOptions;
  /** Returns metadata for the runs that describes the peer. */
  readonly #describePeer: () => KeyValues;
  /** Runs of requests that this side sent and whose responses it waits for. */
  readonly #sent = new Map<RequestId, RunTree>();
  /** Runs of requests that this side received and is handling. */
  readonly #received = new Map<RequestId, RunTree>();
  /**
   * Received messages. If a transport is connected again, the SDK passes each message on twice, and the second time is
   * ignored.
   */
  readonly #seen = new WeakSet<Message>();

  constructor(options: TraceMessagesOptions, describePeer: () => KeyValues) {
    this.#options = options;
    this.#describePeer = describePeer;
  }

  /**
   * Sends a message. If it is a request, the trace context of its run is added to `_meta`, or that of the current run
   * if the request is not recorded.
   */
  async send(message: Message, sendMessage: (sent: Message) => Promise<void>): Promise<void> {
    const request = readRequest(message);
    if (request === undefined) {
      this.#endWith(message, { answered: this.#received, cancelled: this.#sent });
      return sendMessage(message);
    }
    const options = describeSent(request);
    const run = options && this.#start(options);
    const parent = run ?? (isUntraced(request.method) ? undefined : currentRun());
    const sentMessage = parent === undefined ? message : this.#addContext(message, request, parent);
    if (run === undefined) {
      return sendMessage(sentMessage);
    }
    this.#sent.set(request.id, run);
    try {
      await withRun(run, () => sendMessage(sentMessage));
    } catch (error) {
      this.#sent.delete(request.id);
      run.fail(error);
      throw error;
    }
  }

  /** Passes a received message on to its handler. A request is handled within its run. */
  receive(message: Message, passOn: () => void): void {
    const request = readRequest(message);
    if (this.#seen.has(message) || (request !== undefined && isUntraced(request.method))) {
      passOn();
      return;
    }
    this.#seen.add(message);
    if (request === undefined) {
      this.#endWith(message, { answered: this.#sent, cancelled: this.#received });
      passOn();
      return;
    }
    const { _meta: meta, ...inputs } = request.params;
    const caller = isObject(meta) ? readTraceContext(meta, this.#options.client) : undefined;
    const target = request.params["name"];
    const name = typeof target === "string" ? `${request.method} ${target}` : request.method;
    const run = this.#start({ name, inputs }, caller);
    this.#received.get(request.id)?.fail("The peer sent another request with the same id");
    this.#received.set(request.id, run);
    withRun(run, passOn);
  }

  /** Ends all open runs as failed. */
  close(): void {
    for (const runs of [this.#sent, this.#received]) {
      for (const run of runs.values()) {
        run.fail("The connection was closed before the response");
      }
      runs.clear();
    }
  }

  #start(options: RunOptions, caller?: RunTree): RunTree {
    const { client, tags, metadata } = this.#options;
    const runOptions = { ...options, tags, metadata: { ...metadata, ...this.#describePeer() } };
    return caller?.startChild(runOptions) ?? new RunTree({ ...runOptions, client });
  }

  #addContext(message: Message, { params }: RequestMessage, run: RunTree): Message {
    // Without a client nothing is recorded, and a request must not refer to a run that does not exist.
    if (!run.sampled && this.#options.client === undefined && !(run.client instanceof Client)) {
      return message;
    }
    const meta = isObject(params["_meta"]) ? params["_meta"] : {};
    const sendsMetadata = this.#options.sendMetadata === true;
    const _meta = writeTraceContext(run, meta, { sendsMetadata });
    return { ...message, params: { ...params, _meta } };
  }

  /** Ends the run to which a response or a cancellation belongs. */
  #endWith(
    message: Message,
    { answered, cancelled }: Readonly<Record<"answered" | "cancelled", Map<RequestId, RunTree>>>,
  ): void {
    if ("method" in message) {
      const { requestId, reason } = readParams(message);
      if (message.method === "notifications/cancelled" && isRequestId(requestId)) {
        const text = typeof reason === "string" ? `: ${reason}` : "";
        cancelled.get(requestId)?.fail(`The request was cancelled${text}`);
        cancelled.delete(requestId);
      }
      return;
    }
    if (isRequestId(message.id)) {
      endWithResponse(answered.get(message.id), message);
      answered.delete(message.id);
    }
  }
}

function endWithResponse(run: RunTree | undefined, response: object): void {
  const { result, error } = response as { readonly result?: unknown; readonly error?: unknown };
  if (isObject(error)) {
    run?.fail(`MCP error ${String(error["code"])}: ${String(error["message"])}`);
  } else if (isObject(result) && result["isError"] === true) {
    run?.fail(readErrorText(result), result);
  } else {
    run?.end(result);
  }
}

/** Requests that set up and check a connection. They are neither recorded nor changed. */
const isUntraced = (method: string): boolean => ["initialize", "ping"].includes(method);

/** Returns the options for the run of a request that this side sends; `undefined` if the request is not recorded. */
function describeSent({ method, params }: RequestMessage): RunOptions | undefined {
  const { name, arguments: callArguments, uri, _meta, ...inputs } = params;
  const target = typeof name === "string" ? name : method;
  const targetInputs = isObject(callArguments) ? callArguments : {};
  switch (method) {
    case "tools/call":
      return { name: target, runType: "tool", inputs: targetInputs };
    case "prompts/get":
      return { name: target, runType: "prompt", inputs: targetInputs };
    case "resources/read":
      return { name: method, runType: "retriever", inputs: { uri } };
    case "sampling/createMessage":
      return { name: method, runType: "llm", inputs };
    case "elicitation/create":
      return { name: method, inputs };
    default:
      return undefined;
  }
}

/** Returns the text with which a tool reports its failure. */
function readErrorText({ content }: Params): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const texts = parts.flatMap((part) =>
    isObject(part) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
  return texts.length === 0 ? "The tool reported an error" : texts.join("\n");
}

function readRequest(message: Message): RequestMessage | undefined {
  if (!("method" in message) || !("id" in message) || !isRequestId(message.id)) {
    return undefined;
  }
  return { id: message.id, method: message.method, params: readParams(message) };
}

const readParams = ({ params }: { readonly params?: unknown }): Params =>
  isObject(params) ? params : {};

const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || typeof value === "number";

const isObject = (value: unknown): value is Params => typeof value === "object" && value !== null;
