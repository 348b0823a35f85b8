import type { Dispatcher } from "undici";
import type { Connection } from "../model/connection.ts";
import { endpoints } from "../model/endpoints.ts";
import type { Endpoint } from "../model/endpoints.ts";
import { parseServerInfo } from "../model/server-info.ts";
import { version } from "../model/version.ts";
import { judgeAnswer, judgeFailure } from "./answer.ts";
import type { Answer } from "./answer.ts";
import { compress } from "./compression.ts";
import { FrameBuffers } from "./frame-buffers.ts";
import { contentTypes } from "./frame.ts";
import type { FrameFormat } from "./frame.ts";
import { JsonWriter } from "./json-writer.ts";
import { Semaphore } from "./semaphore.ts";
import type { ServerState } from "./server-state.ts";
import type { Batch, Outcome, Sink } from "./sink.ts";

const keptFramesBytes = 33_554_432;
/** A compressed body may not pay below this. */
const compressFromBytes = 1_024;

/** What the sink counts as it sends. */
export interface Traffic {
  requests: number;
  bytes: number;
}

/** Sends batches over pooled connections. One request a batch, in the best format the server takes. */
export class HttpSink implements Sink {
  #traffic: Traffic = { requests: 0, bytes: 0 };
  readonly #connection: Connection;
  readonly #dispatcher: Dispatcher;
  readonly #state: ServerState;
  readonly #buffers = new FrameBuffers(keptFramesBytes);
  readonly #places: Semaphore;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(connection: Connection, dispatcher: Dispatcher, state: ServerState) {
    this.#connection = connection;
    this.#dispatcher = dispatcher;
    this.#state = state;
    this.#places = new Semaphore(connection.requestsInFlight);
    const url = new URL(connection.endpoint);
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = headersOf(connection);
  }

  /** What was sent since the last call. */
  takeTraffic(): Traffic {
    const taken = this.#traffic;
    this.#traffic = { requests: 0, bytes: 0 };
    return taken;
  }

  /** Sends a batch, or its runs one by one to a server that takes no batches. */
  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    for (;;) {
      const format = batch.runs.every(({ batchable }) => batchable) ? this.#state.format : "single";
      if (format === "single" && batch.runs.length > 1) {
        return this.#sendSingly(batch, signal);
      }
      const answer = await this.#places.run(() => this.#try(batch, format, signal));
      if ("kind" in answer) {
        return answer;
      }
      const missing = answer.status === 404 || answer.status === 405;
      if (!missing || format === "single") {
        if (missing) {
          this.#state.forgetMisses();
        }
        return judgeBatch(batch, pathOf(batch, format), answer);
      }
      this.#state.miss(format);
    }
  }

  /** Asks what the server can do. No run waits for it; a failure leaves what is known. */
  async readInfo(signal: AbortSignal): Promise<void> {
    const { method, path } = endpoints.readInfo;
    const answer = await this.#request({ method, path }, undefined, {}, signal);
    if (answer.status === 200) {
      this.#state.learn(parseServerInfo(JSON.parse(answer.body)));
    } else if (answer.status === 404) {
      this.#state.known = true;
    }
  }

  async #sendSingly(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const parts = await Promise.all(
      batch.runs.map(async (run) => {
        const single = batch.part([run]);
        return { batch: single, outcome: await this.send(single, signal) };
      }),
    );
    return { kind: "mixed", parts };
  }

  async #try(batch: Batch, format: FrameFormat, signal: AbortSignal): Promise<Answer | Outcome> {
    const endpoint = pathOf(batch, format);
    const out = new JsonWriter(this.#buffers.take(Math.ceil(batch.sizeBytes * 1.2)));
    try {
      batch.frame(out, format);
      const frame = out.bytes.subarray(0, out.length);
      const encoding = frame.length >= compressFromBytes ? this.#state.encoding : undefined;
      const body = encoding === undefined ? frame : compress(frame, encoding);
      const headers = {
        "content-type": contentTypes[format],
        ...(encoding === undefined ? {} : { "content-encoding": encoding }),
      };
      this.#traffic.requests += 1;
      this.#traffic.bytes += body.length;
      return await this.#request(endpoint, body, headers, signal);
    } catch (failure) {
      return judgeFailure(endpoint.action, failure);
    } finally {
      this.#buffers.give(out.bytes);
    }
  }

  /** One request and its whole answer, within `timeoutMs`. Redirects are not followed. */
  async #request(
    { method, path }: Pick<Endpoint, "method" | "path">,
    body: Uint8Array | undefined,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { timeoutMs } = this.#connection;
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal.reason);
    signal.addEventListener("abort", stop);
    const timer = setTimeout(() => {
      controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, "TimeoutError"));
    }, timeoutMs);
    try {
      const response = await this.#dispatcher.request({
        origin: this.#origin,
        path: this.#basePath + path,
        method,
        headers: { ...this.#headers, ...headers },
        body: body ?? null,
        signal: controller.signal,
      });
      return {
        status: response.statusCode,
        retryAfter: String(response.headers["retry-after"] ?? ""),
        body: await bodyOf(response),
      };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }
}

/** The body as text. Of an answer that says yes, a body that can't be read changes nothing. */
async function bodyOf(response: Dispatcher.ResponseData): Promise<string> {
  try {
    return await response.body.text();
  } catch (error) {
    if (response.statusCode >= 200 && response.statusCode < 300) {
      return "";
    }
    throw error;
  }
}

function pathOf(batch: Batch, format: FrameFormat): Pick<Endpoint, "method" | "path" | "action"> {
  switch (format) {
    case "multipart":
      return endpoints.sendMultipart;
    case "batch":
      return endpoints.sendBatch;
    case "single": {
      const [run] = batch.runs;
      return run?.operation === "patch"
        ? { ...endpoints.updateRun, path: endpoints.updateRun.path.replace(":id", run.id) }
        : endpoints.createRun;
    }
  }
}

/** Our server takes the good runs of a batch and lists the bad ones in its answer. */
function judgeBatch(batch: Batch, { action }: Pick<Endpoint, "action">, answer: Answer): Outcome {
  const outcome = judgeAnswer(action, answer, Date.now());
  const refused = outcome.kind === "delivered" ? refusedRuns(answer.body) : noneRefused;
  if (refused.size === 0) {
    return outcome;
  }
  const bad = batch.runs.filter(({ id }) => refused.has(id));
  const good = batch.runs.filter(({ id }) => !refused.has(id));
  return {
    kind: "mixed",
    parts: [
      { batch: batch.part(good), outcome },
      ...bad.map((run) => ({
        batch: batch.part([run]),
        outcome: {
          kind: "rejected" as const,
          rejection: {
            code: "HTTP" as const,
            status: 422,
            message: `Failed to ${action}: ${refused.get(run.id) ?? ""}`,
          },
        },
      })),
    ],
  };
}

const noneRefused: ReadonlyMap<string, string> = new Map();

function refusedRuns(body: string): ReadonlyMap<string, string> {
  if (!body.includes('"rejected"')) {
    return noneRefused;
  }
  const answer = parseJson(body);
  const list: unknown =
    typeof answer === "object" && answer !== null && "rejected" in answer ? answer.rejected : [];
  const refused = new Map<string, string>();
  for (const item of Array.isArray(list) ? (list as readonly unknown[]) : []) {
    if (typeof item === "object" && item !== null && "id" in item && "reason" in item) {
      refused.set(String(item.id), String(item.reason));
    }
  }
  return refused;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // An answer that says yes and is no JSON is a yes (a proxy's page, an empty body).
    return undefined;
  }
}

const headersOf = (connection: Connection): Readonly<Record<string, string>> => ({
  ...connection.headers,
  "user-agent": `millrace/${version}`,
  accept: "application/json",
  ...(connection.apiKey === undefined ? {} : { "x-api-key": connection.apiKey }),
  ...(connection.workspaceId === undefined ? {} : { "x-tenant-id": connection.workspaceId }),
});
