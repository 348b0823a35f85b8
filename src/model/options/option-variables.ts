import { optionTable } from "./option-table.ts";

/**
 * Options that determine whether and how the server is reached, and where undelivered runs are
 * stored.
 */
export type ServerOptionName =
  | "enabled"
  | "endpoint"
  | "apiKey"
  | "spoolDir"
  | "httpProxy"
  | "httpsProxy"
  | "noProxy"
  | "socketPath"
  | "ca"
  | "cert"
  | "key";

/** Returns the environment variables of an option. The first one that is set is used. */
export const variablesOf = (name: ServerOptionName): readonly string[] => optionTable[name].env;

/** The default address of the server. */
export const defaultEndpoint = String(optionTable.endpoint.fallback);
