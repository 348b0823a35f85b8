import type { ServerErrorCode } from "./errors.ts";
import type { ServerSettings } from "./options.ts";

/** What the server's thread is started with. */
export type ServerThreadData = ServerSettings;

/** What the server's thread says. */
export type ServerThreadMessage =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly code: ServerErrorCode; readonly reason: string };

/** The only thing it is told. */
export const closeRequest = "close";
