import { AbortError, ClosedError, HttpError } from "../model/errors.ts";
import { defaultServerInfo, parseServerInfo } from "../model/server-info.ts";
import type { ServerInfo } from "../model/server-info.ts";
import type { Call, CallOptions } from "./http.ts";

/** What the server says of itself, asked for once. */
export class ServerInfoReader {
  readonly #call: Call;
  #info: ServerInfo | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * The defaults where a server has no `/info`; it is asked again the next time.
   *
   * @throws {@link SdkError} no answer.
   */
  async read({ signal }: CallOptions): Promise<ServerInfo> {
    if (this.#info !== undefined) {
      return this.#info;
    }
    try {
      this.#info = parseServerInfo(await this.#call("readInfo", { signal }));
      return this.#info;
    } catch (error) {
      if (error instanceof HttpError) {
        return defaultServerInfo;
      }
      throw error;
    }
  }

  /** The defaults too where there is no answer: what is wrong is for the calls that matter to find. */
  async readOrDefaults({ signal }: CallOptions): Promise<ServerInfo> {
    try {
      return await this.read({ signal });
    } catch (error) {
      if (error instanceof AbortError || error instanceof ClosedError) {
        throw error;
      }
      return defaultServerInfo;
    }
  }
}
