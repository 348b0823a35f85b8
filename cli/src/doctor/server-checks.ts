import { isLoopback, parseServerInfo, version } from "millrace/model";
import { ProxyError, sendRequest } from "../local-server/send-request.ts";
import type { ServerResponse } from "../local-server/send-request.ts";
import { toPrintable } from "../to-printable.ts";
import type { Check } from "./check.ts";
import { toPrintableUrl, readErrorCode, readErrorMessage } from "./network-checks.ts";
import type { Settings } from "../local-server/settings.ts";

/** The part of a tracing server's response to `GET /info` that the checks use. */
interface InfoResponse {
  readonly version: string;
}

/** `response` is present if the endpoint responded at all, `info` only if a tracing server responded. */
export type ServerCheckResult =
  | { readonly check: Check; readonly info: InfoResponse; readonly response: ServerResponse }
  | {
      readonly check: Check;
      readonly info: undefined;
      readonly response: ServerResponse | undefined;
    };

/** Checks that a server responds at the endpoint, and that it is a tracing server. */
export async function checkServer(settings: Settings): Promise<ServerCheckResult> {
  const name = "server";
  const address = toPrintableUrl(settings.endpoint.value);
  const isLocal = isLoopback(new URL(address).hostname);
  let response: ServerResponse;
  try {
    response = await sendRequest(settings, "/info");
  } catch (error) {
    const reason =
      [readErrorCode(error), readErrorMessage(error)].find((text) => text !== "") ?? "no reason";
    const check: Check = {
      name,
      status: "failed",
      found: toPrintable(`no response from ${address}: ${reason}`),
      todo: adviseOnServer(error, isLocal),
    };
    return { check, info: undefined, response: undefined };
  }
  const info = parseInfo(response);
  if (info === undefined) {
    const check: Check = {
      name,
      status: "failed",
      found: toPrintable(
        `${address} responds with ${response.status}, but its /info reports no version`,
      ),
      todo: "Another program listens there; set the endpoint to a Millrace or LangSmith server.",
    };
    return { check, info, response };
  }
  const millraceVersion = await readMillraceVersion(settings);
  const server =
    millraceVersion === undefined ? "server" : `Millrace ${toPrintable(millraceVersion, 40)}`;
  const found = `${server} with version ${toPrintable(info.version, 40)} of the API at ${address}`;
  return { check: { name, status: "ok", found }, info, response };
}

/**
 * Returns the version of a Millrace server; `undefined` for other servers. `/info` reports only the version of the API,
 * because LangSmith clients conclude from it what they may send.
 */
async function readMillraceVersion(settings: Settings): Promise<string | undefined> {
  try {
    const { body } = await sendRequest(settings, "/");
    const { name, version: found } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    return name === "millrace" && typeof found === "string" ? found : undefined;
  } catch {
    // Other servers respond with a page, or with nothing that can be parsed.
    return undefined;
  }
}

/** Returns what to do about a server that does not respond. */
function adviseOnServer(error: unknown, isLocal: boolean): string {
  if (error instanceof ProxyError) {
    // The server may well be running: the request did not get past the proxy.
    return `${error.todo}.`;
  }
  return isLocal
    ? "Start the server with: npx millrace serve"
    : "Check the address and port, that the server is running, and any firewall or proxy in between.";
}

function parseInfo({ status, body }: ServerResponse): InfoResponse | undefined {
  if (status !== 200) {
    return undefined;
  }
  try {
    const { version: found } = parseServerInfo(JSON.parse(body));
    return found === undefined ? undefined : { version: found };
  } catch {
    // Not JSON, so this is not a tracing server.
    return undefined;
  }
}

/** Reports the versions of Millrace, Node and the server, and checks that Node is new enough. */
export function checkVersions(info: InfoResponse | undefined): Check {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isTooOld = major < 20 || (major === 20 && minor < 19);
  const serverText = info === undefined ? "" : `, server API ${toPrintable(info.version, 40)}`;
  return {
    name: "versions",
    status: isTooOld ? "failed" : "ok",
    found: `millrace ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}${serverText}`,
    ...(isTooOld ? { todo: "Use Node 20.19 or newer." } : {}),
  };
}

/** Sends a request that needs a key. The result names only the source of the key, never the key. */
export async function checkKey(settings: Settings): Promise<Check> {
  const name = "key";
  const { apiKey } = settings;
  const source = apiKey === undefined ? "none is set" : `the key from ${apiKey.source}`;
  const headers = apiKey === undefined ? {} : { "x-api-key": apiKey.value };
  try {
    const { status } = await sendRequest(settings, "/sessions?limit=1", { headers });
    if (status === 401 || status === 403) {
      return {
        name,
        status: "failed",
        found:
          apiKey === undefined
            ? `none is set, but the server requires one (${status})`
            : `${source} was refused (${status})`,
        todo: "Set MILLRACE_API_KEY to a key of this server; `millrace keys create` creates one.",
      };
    }
    return status >= 200 && status < 300
      ? {
          name,
          status: "ok",
          found:
            apiKey === undefined
              ? "none is set; the server requires none"
              : `${source}; the server accepts it`,
        }
      : {
          name,
          status: "failed",
          found: `${source}; the server responded with ${status} to GET /sessions`,
          todo: "Check the server's log.",
        };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: toPrintable(`GET /sessions failed: ${readErrorMessage(error)}`),
      todo: "Run the command again: the server responded to the previous check.",
    };
  }
}

/**
 * Clock differences below this are ignored: the Date header is rounded to whole seconds, and the response takes
 * some time to arrive.
 */
const clockToleranceMs = 5_000;
/** If the clocks differ by this much or more, the check fails. A smaller difference is only a warning. */
const clockFailureMs = 60_000;

/** Compares the clock of this machine with that of the server. */
export function checkClock({ headers, respondedAtMs }: ServerResponse): Check {
  const name = "clock";
  const serverMs = Date.parse(headers.date ?? "");
  if (Number.isNaN(serverMs)) {
    return { name, status: "skipped", found: "the server sends no Date header" };
  }
  const differenceMs = respondedAtMs - serverMs;
  const absoluteMs = Math.abs(differenceMs);
  if (absoluteMs < clockToleranceMs) {
    return { name, status: "ok", found: "the same as the server's" };
  }
  const seconds = Math.round(absoluteMs / 1_000).toLocaleString("en");
  return {
    name,
    status: absoluteMs >= clockFailureMs ? "failed" : "warning",
    found: `this machine is ${seconds} s ${differenceMs > 0 ? "ahead of" : "behind"} the server`,
    todo: "Synchronize both clocks (NTP); otherwise runs get wrong times.",
  };
}

/** Reports the server's limits for one request. */
export function checkLimits({ body }: ServerResponse): Check {
  const { batch_ingest_config: config } = JSON.parse(body) as {
    readonly batch_ingest_config?: unknown;
  };
  const { batchLimit, batchBytes } = parseServerInfo(JSON.parse(body));
  const mebibytes = (batchBytes / 1_048_576).toFixed(1);
  const found = `${batchLimit.toLocaleString("en")} operations and ${mebibytes} MiB per request`;
  return config === undefined
    ? { name: "limits", status: "warning", found: `not reported by the server; assuming ${found}` }
    : { name: "limits", status: "ok", found };
}
