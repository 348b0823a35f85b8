import { performance } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";
import { receiveWarnings } from "../storage/thread-warnings.ts";
import type { LogFormat } from "../model/log-format.ts";
import { BoundedWriter, writeTo } from "./bounded-writer.ts";
import type { WriteBytes } from "./bounded-writer.ts";

/** A line of the log. It has no query strings, bodies, headers or keys. */
export interface LogRecord {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly [member: string]: string | number | undefined;
}

/** The file descriptor of standard error. Standard output is for what the command prints. */
const standardError = 2;

/** Milliseconds for which the server waits for its log when it ends. */
const flushMs = 1_000;

/** The status of a request whose client disconnected before it received a response. */
export const disconnectedStatus = 499;

/** Writes the log of the server: one line for each request, and the warnings of all threads. */
export class ServerLog {
  readonly #format: (record: LogRecord) => string;
  readonly #writer: BoundedWriter;
  readonly #endWarnings: () => void;

  constructor(format: LogFormat, writeBytes: WriteBytes = writeTo(standardError)) {
    this.#format = formats[format];
    this.#writer = new BoundedWriter(writeBytes, (dropped) =>
      this.#format({
        level: "warn",
        message: "log lines were dropped because the log is read too slowly",
        dropped,
      }),
    );
    this.#endWarnings = receiveWarnings(({ thread, message }) =>
      this.write({ level: "warn", message, thread }),
    );
  }

  write(record: LogRecord): void {
    this.#writer.push(this.#format(record));
  }

  /** Adds a line for each request, once its response has ended or its client has disconnected. */
  observe(app: FastifyInstance): void {
    app.addHook("onRequest", (request, { raw }, done) => {
      const startMs = performance.now();
      raw.once("close", () => {
        const status = raw.writableFinished ? raw.statusCode : disconnectedStatus;
        this.write({
          level: status >= 500 ? "error" : "info",
          message: "request",
          request_id: request.id,
          method: request.method,
          // The pattern of the route: a path may contain tokens of links.
          route: request.routeOptions.url ?? "none",
          status,
          duration_ms: Math.round((performance.now() - startMs) * 1_000) / 1_000,
          ...(request.tenantId === "" ? {} : { tenant_id: request.tenantId }),
        });
      });
      done();
    });
  }

  async close(): Promise<void> {
    this.#endWarnings();
    await this.#writer.flush(flushMs);
  }
}

const formats: { readonly [Format in LogFormat]: (record: LogRecord) => string } = {
  json: (record) => `${JSON.stringify({ time: new Date().toISOString(), ...record })}\n`,
  text: ({ level, message, ...members }) => {
    const memberTexts = Object.entries(members).map(([name, value]) => `${name}=${toWord(value)}`);
    return `${[new Date().toISOString(), level.toUpperCase(), toWord(message), ...memberTexts].join(" ")}\n`;
  },
};

/** Quotes what would not be one word, so that a text from outside can't begin another line or look like a member. */
const toWord = (value: string | number | undefined): string =>
  typeof value === "string" && !/^[\w./:@*-]+$/.test(value) ? JSON.stringify(value) : String(value);
