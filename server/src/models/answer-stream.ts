import type { FastifyReply } from "fastify";
import { safeHeaders } from "../http/safe-headers.ts";

/** Milliseconds between the comments that are sent while a model thinks, so that the connection stays open. */
const heartbeatMs = 15_000;
/** Maximum number of unsent bytes. Above this, the connection of a page that does not read is closed. */
const maxUnsentBytes = 4_194_304;

/**
 * Sends an answer to a page of the UI as server-sent events. The response begins with the first event, so that an error
 * before it can still have a status. `signal` is aborted when the page disconnects.
 */
export class AnswerStream {
  readonly #reply: FastifyReply;
  readonly #controller = new AbortController();
  readonly #heartbeat: NodeJS.Timeout;
  #hasBegun = false;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    reply.raw.once("close", () => this.cancel());
    this.#heartbeat = setInterval(
      () => this.#write(": the model is still answering\n\n"),
      heartbeatMs,
    );
    // The timer must not keep the process alive.
    this.#heartbeat.unref();
  }

  /** Aborted when the page disconnects. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  send(name: string, data: unknown): void {
    this.#write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  end(): void {
    clearInterval(this.#heartbeat);
    if (this.#hasBegun) {
      this.#reply.raw.end();
    }
  }

  cancel(): void {
    clearInterval(this.#heartbeat);
    this.#controller.abort();
  }

  #write(text: string): void {
    const { raw } = this.#reply;
    if (raw.destroyed) {
      return;
    }
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#reply.hijack();
      raw.writeHead(200, { ...safeHeaders, "content-type": "text/event-stream; charset=utf-8" });
    }
    raw.write(text);
    if (raw.writableLength > maxUnsentBytes) {
      raw.destroy();
    }
  }
}
