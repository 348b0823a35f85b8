import type { ServerErrorCode } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";

/** The `workerData` of the server thread. */
export interface ServerThreadData extends ServerSettings {
  /**
   * The thread sets it to 1 once its files are closed. When the host program exits, it can't receive messages and
   * waits for this value instead.
   */
  readonly endedFlag: Int32Array<SharedArrayBuffer>;
}

/** Messages from the server thread. */
export type ServerThreadMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly code: ServerErrorCode; readonly reason: string };

/** Requests that the thread completes running requests and then ends. */
export const closeRequest = "close";

/** Requests that the thread ends at once, because the host process exits. */
export const exitRequest = "exit";
