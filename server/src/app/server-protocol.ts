import type { ServerErrorCode } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";

/** The `workerData` of the server thread. */
export interface ServerThreadData extends ServerSettings {
  /**
   * The thread sets it to 1 once its files are closed. The host program waits for that at exit, when it can't receive
   * messages.
   */
  readonly ended: Int32Array<SharedArrayBuffer>;
}

/** Messages from the server thread. */
export type ServerThreadMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly code: ServerErrorCode; readonly reason: string };

/** Asks the thread to complete running requests and then end. */
export const closeRequest = "close";

/** Asks the thread to end at once, because the host process exits. */
export const exitRequest = "exit";
