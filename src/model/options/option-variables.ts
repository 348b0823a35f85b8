import { optionTable } from "./option-table.ts";

/** The options that decide whether and how a server is reached, and where runs wait for one. */
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

/** The variables of an option; the first that is set counts. */
export const variablesOf = (name: ServerOptionName): readonly string[] => optionTable[name].env;

/** Where a client looks for a server that neither an option nor a variable names. */
export const defaultEndpoint = String(optionTable.endpoint.fallback);
