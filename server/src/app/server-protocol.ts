import type { OpenedLog } from "../ingest-log/log-report.ts";
import type { ServerErrorCode } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";

/** The settings of the HTTP application. */
export interface AppSettings extends ServerSettings {
  /** The token that callers of models must send while the server requires no key. */
  readonly modelToken: string;
}

/** The `workerData` of the server thread. */
export interface ServerThreadData extends AppSettings {
  /**
   * The server thread sets this flag to 1 once its files are closed. A host program that exits can't receive messages
   * any more, so it waits for the flag instead.
   */
  readonly endedFlag: Int32Array<SharedArrayBuffer>;
}

export type ServerThreadMessage =
  | {
      readonly kind: "listening";
      readonly port: number;
      readonly needsModelToken: boolean;
      readonly log: OpenedLog | undefined;
    }
  | { readonly kind: "failed"; readonly code: ServerErrorCode; readonly reason: string };

/** The message that makes the server thread complete the requests in progress and then end. */
export const closeRequest = "close";

/** The message that makes the server thread end at once, because the host process exits. */
export const exitRequest = "exit";
