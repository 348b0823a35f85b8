import type {
  ExchangeEnd,
  ExchangeOptions,
  ExchangeRun,
  TracingClient,
} from "../../src/main/index.ts";
import { CollectingClient } from "../tracing/collecting-client.ts";

/** What was recorded of one exchange. */
export interface CollectedExchange {
  readonly options: ExchangeOptions;
  /** The request, if it was added after the start. */
  request?: unknown;
  attempts: number;
  status?: number;
  contentType?: string | undefined;
  requestId?: string | undefined;
  isReading: boolean;
  /** The bytes of the last response, as text. */
  text: string;
  chunks: number;
  readonly warnings: string[];
  /** How each attempt ended; the error as `name: message`. */
  readonly ends: { readonly ending: string | undefined; readonly error?: string }[];
}

/** A client that keeps what is recorded of exchanges, as it is at the call. */
export class ExchangeCollector extends CollectingClient implements TracingClient {
  readonly exchanges: CollectedExchange[] = [];

  /** The only exchange. */
  get only(): CollectedExchange {
    const [exchange] = this.exchanges;
    if (exchange === undefined || this.exchanges.length > 1) {
      throw new Error(`${this.exchanges.length} exchanges were recorded`);
    }
    return exchange;
  }

  recordExchange(options: ExchangeOptions): ExchangeRun {
    const exchange: CollectedExchange = {
      options,
      attempts: 1,
      isReading: false,
      text: "",
      chunks: 0,
      warnings: [],
      ends: [],
    };
    this.exchanges.push(exchange);
    const recording: Omit<ExchangeRun, "run" | "end"> & { end(end?: ExchangeEnd): void } = {
      isRecorded: true,
      get attempt() {
        return exchange.attempts;
      },
      addRequest: (request) => {
        exchange.request = request;
      },
      respond: ({ status, contentType, requestId }) => {
        Object.assign(exchange, { status, contentType, requestId });
      },
      startReading: () => {
        exchange.isReading = true;
      },
      stopReading: () => {
        exchange.isReading = false;
      },
      addChunk: (chunk) => {
        exchange.text += Buffer.from(chunk).toString();
        exchange.chunks += 1;
      },
      addWarning: (text) => {
        exchange.warnings.push(text);
      },
      beginAttempt: () => {
        exchange.attempts += 1;
        exchange.text = "";
      },
      end: (end) => {
        const { ending, error } = end ?? {};
        exchange.ends.push({
          ending,
          ...(error === undefined
            ? {}
            : { error: error instanceof Error ? String(error) : "not an error" }),
        });
      },
      endUnread: () => undefined,
    };
    return recording as ExchangeRun;
  }
}
