import { HttpError } from "../model/errors.ts";
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
}
