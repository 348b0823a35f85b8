import { own } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** The options that say how the server is reached, beside its address. */
export interface ConnectionOptions {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly socketPath: string | undefined;
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}

export const connectionRows: { readonly [Name in keyof ConnectionOptions]: OptionRow } = {
  ca: {
    kind: "text",
    fallback: undefined,
    format: "certificates",
    failClosed: "sendNothing",
    env: own("CA"),
    doc: "Certificate authorities to trust in place of the usual ones, PEM text.",
  },
  cert: {
    kind: "text",
    fallback: undefined,
    format: "certificates",
    failClosed: "sendNothing",
    env: own("CERT"),
    doc: "Client certificate, PEM text.",
  },
  key: {
    kind: "text",
    fallback: undefined,
    format: "privateKey",
    isSecret: true,
    failClosed: "sendNothing",
    env: own("KEY"),
    doc: "Key of the client certificate, PEM text; never logged.",
  },
  socketPath: {
    kind: "text",
    fallback: undefined,
    env: own("SOCKET_PATH"),
    doc: "Unix socket to connect to in place of the endpoint's host.",
  },
  httpProxy: {
    kind: "text",
    fallback: undefined,
    isSecret: true,
    failClosed: "sendNothing",
    env: ["MILLRACE_HTTP_PROXY", "http_proxy", "HTTP_PROXY"],
    doc: "Proxy for an endpoint that begins with http.",
  },
  httpsProxy: {
    kind: "text",
    fallback: undefined,
    isSecret: true,
    failClosed: "sendNothing",
    env: ["MILLRACE_HTTPS_PROXY", "https_proxy", "HTTPS_PROXY"],
    doc: "Proxy for an endpoint that begins with https.",
  },
  noProxy: {
    kind: "text",
    fallback: undefined,
    env: ["MILLRACE_NO_PROXY", "no_proxy", "NO_PROXY"],
    doc: "Hosts reached without a proxy, separated by commas; * is all of them.",
  },
};
