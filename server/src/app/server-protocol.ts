import type { ServerErrorCode } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";

/** What the server's thread is started with. */
export interface ServerThreadData extends ServerSettings {
  /** Set to 1 once its files are closed: what the host program waits for where it can wait for no message. */
  readonly ended: Int32Array<SharedArrayBuffer>;
}

/** Messages of the server's thread. */
export type ServerThreadMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly code: ServerErrorCode; readonly reason: string };

/** It is to answer what is under way, and end. */
export const closeRequest = "close";

/** It is to end at once: the host program ends. */
export const leaveRequest = "leave";
