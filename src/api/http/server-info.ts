import { AbortError, ClosedError, HttpError } from "../../model/errors.ts";
import { defaultServerInfo, parseServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { Call, CallOptions } from "./http.ts";
import type { CallInit } from "./request.ts";

/** What the server says of itself, asked for once. */
export class ServerInfoReader {
  readonly #call: Call;
  #info: ServerInfo | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * The defaults where a server has no `/info`; it is requested again the next time.
   *
   * @throws {@link SdkError} no response, or the server can't respond now.
   */
  async read(options: CallOptions): Promise<ServerInfo> {
    return this.#request(options);
  }

  /**
   * The defaults too where there is no answer, after one try: an `/info` that hangs holds nothing up
   * for long, and what else is wrong is for the calls that matter to find.
   */
  async readOrDefaults({ signal }: CallOptions): Promise<ServerInfo> {
    try {
      return await this.#request({ signal, attempts: 1 });
    } catch (error) {
      if (error instanceof AbortError || error instanceof ClosedError) {
        throw error;
      }
      return defaultServerInfo;
    }
  }

  async #request(options: Pick<CallInit, "signal" | "attempts">): Promise<ServerInfo> {
    if (this.#info !== undefined) {
      return this.#info;
    }
    try {
      this.#info = parseServerInfo(await this.#call("readInfo", options));
      return this.#info;
    } catch (error) {
      if (error instanceof HttpError && !error.retryable) {
        return defaultServerInfo;
      }
      throw error;
    }
  }
}
