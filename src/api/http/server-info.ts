import { AbortError, ClosedError, HttpError } from "../../model/errors.ts";
import { defaultServerInfo, parseServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { Call, CallOptions } from "./http.ts";
import type { CallInit } from "./request.ts";

/** Reads the server's `/info` and caches it. */
export class ServerInfoReader {
  readonly #call: Call;
  #info: ServerInfo | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Returns the content of `/info`. If the server refuses the request, for example because it has no `/info`, returns
   * defaults, and the next call requests `/info` again.
   *
   * @throws {@link SdkError} if there is no response, or the server is temporarily unavailable.
   */
  async read({ signal, attempts }: CallOptions & Pick<CallInit, "attempts">): Promise<ServerInfo> {
    return this.#request({ signal, attempts });
  }

  /**
   * Like {@link ServerInfoReader.read}, but also returns defaults after a single failed attempt, so that an
   * `/info` that hangs does not delay the caller for long. If the server has a real problem, the calls that
   * follow report it.
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
