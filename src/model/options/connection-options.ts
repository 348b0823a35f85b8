import { toMillraceVariables } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** Options for the connection to the server, other than its address. */
export interface ConnectionOptions {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly socketPath: string | undefined;
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}

/** The rows of the option table for {@link ConnectionOptions}. */
export const connectionOptionRows: { readonly [Name in keyof ConnectionOptions]: OptionRow } = {
  ca: {
    kind: "text",
    fallback: undefined,
    format: "certificates",
    failClosed: "sendNothing",
    env: toMillraceVariables("CA"),
    doc: "Certificate authorities to trust instead of the default ones, as PEM text.",
  },
  cert: {
    kind: "text",
    fallback: undefined,
    format: "certificates",
    failClosed: "sendNothing",
    env: toMillraceVariables("CERT"),
    doc: "Client certificate, as PEM text.",
  },
  key: {
    kind: "text",
    fallback: undefined,
    format: "privateKey",
    isSecret: true,
    failClosed: "sendNothing",
    env: toMillraceVariables("KEY"),
    doc: "Private key of the client certificate, as PEM text; never logged.",
  },
  socketPath: {
    kind: "text",
    fallback: undefined,
    env: toMillraceVariables("SOCKET_PATH"),
    doc: "Path of a Unix socket to connect to instead of the endpoint's host.",
  },
  httpProxy: {
    kind: "text",
    fallback: undefined,
    isSecret: true,
    failClosed: "sendNothing",
    env: ["MILLRACE_HTTP_PROXY", "http_proxy", "HTTP_PROXY"],
    doc: "Proxy for an endpoint with the scheme http: a URL such as http://host:3128, or a host with an optional port.",
  },
  httpsProxy: {
    kind: "text",
    fallback: undefined,
    isSecret: true,
    failClosed: "sendNothing",
    env: ["MILLRACE_HTTPS_PROXY", "https_proxy", "HTTPS_PROXY"],
    doc: "Proxy for an endpoint with the scheme https: a URL such as http://host:3128, or a host with an optional port.",
  },
  noProxy: {
    kind: "text",
    fallback: undefined,
    env: ["MILLRACE_NO_PROXY", "no_proxy", "NO_PROXY"],
    doc: "Hosts reached without a proxy, separated by commas; * means all hosts.",
  },
};
