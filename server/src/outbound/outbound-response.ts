import type { Dispatcher } from "undici";
import { OutboundError, toOutboundError } from "./outbound-error.ts";

/** The properties of a call that its response needs. */
interface ResponseCall {
  readonly origin: string;
  readonly limitBytes: number;
  /** Ends the call: closes its connection and stops its timers. */
  readonly end: () => void;
}

/** The response of another host. Its body is read once: as chunks while they arrive, or as a whole. */
export class OutboundResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly #body: Dispatcher.ResponseData["body"];
  readonly #call: ResponseCall;

  constructor({ statusCode, headers, body }: Dispatcher.ResponseData, call: ResponseCall) {
    this.status = statusCode;
    this.headers = headers;
    this.#body = body;
    this.#call = call;
    // The stream emits an error even if nobody reads it, and without this listener the error would end the process. A
    // reader gets the error from `chunks`.
    body.on("error", () => {
      call.end();
    });
  }

  /**
   * Yields the body as it arrives. Leaving the loop ends the call.
   *
   * @throws OutboundError the connection broke, the body exceeds a limit or the call was canceled.
   */
  async *chunks(): AsyncGenerator<Uint8Array, void> {
    const { origin, limitBytes, end } = this.#call;
    let bytes = 0;
    try {
      for await (const chunk of this.#body) {
        if (!(chunk instanceof Uint8Array)) {
          throw new TypeError("A body without an encoding yields bytes");
        }
        bytes += chunk.byteLength;
        if (bytes > limitBytes) {
          throw new OutboundError(
            "RESPONSE",
            `Failed to call ${origin}: the response has more than ${limitBytes} bytes`,
            this.status,
          );
        }
        yield chunk;
      }
    } catch (cause) {
      throw toOutboundError(cause, origin);
    } finally {
      end();
    }
  }

  /** Reads the whole body as text. */
  async text(): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of this.chunks()) {
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  /** Ends the call without reading the rest of the body. */
  cancel(): void {
    this.#body.destroy();
    this.#call.end();
  }
}
