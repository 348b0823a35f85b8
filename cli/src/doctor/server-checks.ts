import { isLoopback, parseServerInfo, version } from "millrace/model";
import { ask } from "./ask.ts";
import type { Answer } from "./ask.ts";
import { shown } from "./check.ts";
import type { Check } from "./check.ts";
import { addressOf, codeOf, messageOf } from "./network-checks.ts";
import type { Settings } from "./settings.ts";

/** The content of `/info` of a tracing server; other members are ignored. */
interface Info {
  readonly version: string;
}

export type ServerFound =
  | { readonly check: Check; readonly info: Info; readonly answer: Answer }
  | { readonly check: Check; readonly info: undefined; readonly answer: Answer | undefined };

/** Whether something answers at the endpoint, and whether it is a tracing server. */
export async function checkServer(settings: Settings): Promise<ServerFound> {
  const name = "server";
  const address = addressOf(settings.endpoint.value);
  const isHere = isLoopback(new URL(address).hostname);
  let answer: Answer;
  try {
    answer = await ask(settings, "/info");
  } catch (error) {
    const reason = [codeOf(error), messageOf(error)].find((text) => text !== "") ?? "no reason";
    const check: Check = {
      name,
      status: "failed",
      found: shown(`nothing answers at ${address}: ${reason}`),
      todo: isHere
        ? "Start the server with: npx millrace serve"
        : "Check address and port, that the server runs, and the firewall or proxy between.",
    };
    return { check, info: undefined, answer: undefined };
  }
  const info = infoOf(answer);
  if (info === undefined) {
    const check: Check = {
      name,
      status: "failed",
      found: shown(`${address} answers ${answer.status}, but its /info names no version`),
      todo: "Something else listens there: set the endpoint to a Millrace or LangSmith server.",
    };
    return { check, info, answer };
  }
  const found = `version ${shown(info.version, 40)} at ${address}`;
  return { check: { name, status: "ok", found }, info, answer };
}

function infoOf({ status, body }: Answer): Info | undefined {
  if (status !== 200) {
    return undefined;
  }
  try {
    const { version: found } = parseServerInfo(JSON.parse(body));
    return found === undefined ? undefined : { version: found };
  } catch {
    // Not JSON: it is another server.
    return undefined;
  }
}

export function checkVersions(info: Info | undefined): Check {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isOld = major < 20 || (major === 20 && minor < 19);
  const server = info === undefined ? "" : `, server API ${shown(info.version, 40)}`;
  return {
    name: "versions",
    status: isOld ? "failed" : "ok",
    found: `millrace ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}${server}`,
    ...(isOld ? { todo: "Use Node 20.19 or newer." } : {}),
  };
}

/** Asks for something that needs a key. What is said of the key is where it comes from. */
export async function checkKey(settings: Settings): Promise<Check> {
  const name = "key";
  const { apiKey } = settings;
  const source = apiKey === undefined ? "none is set" : `the one from ${apiKey.from}`;
  const headers = apiKey === undefined ? {} : { "x-api-key": apiKey.value };
  try {
    const { status } = await ask(settings, "/sessions?limit=1", headers);
    if (status === 401 || status === 403) {
      return {
        name,
        status: "failed",
        found:
          apiKey === undefined
            ? `none is set, and the server wants one (${status})`
            : `${source} is refused (${status})`,
        todo: "Set MILLRACE_API_KEY to a key of this server; `millrace keys create` makes one.",
      };
    }
    return status >= 200 && status < 300
      ? { name, status: "ok", found: `${source}; the server lets it in` }
      : {
          name,
          status: "failed",
          found: `${source}; the server answered ${status} to GET /sessions`,
          todo: "Look into the server's own messages.",
        };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: shown(`GET /sessions failed: ${messageOf(error)}`),
      todo: "Run the command again; the server answered a moment ago.",
    };
  }
}

/** A header has whole seconds, and the answer took a moment: less is no difference. */
const sameMs = 5_000;
const farMs = 60_000;

export function checkClock({ headers, atMs }: Answer): Check {
  const name = "clock";
  const serverMs = Date.parse(headers.date ?? "");
  if (Number.isNaN(serverMs)) {
    return { name, status: "skipped", found: "the server sends no Date header" };
  }
  const offMs = atMs - serverMs;
  const size = Math.abs(offMs);
  if (size < sameMs) {
    return { name, status: "ok", found: "the same as the server's" };
  }
  const seconds = Math.round(size / 1_000).toLocaleString("en");
  return {
    name,
    status: size >= farMs ? "failed" : "warning",
    found: `this machine is ${seconds} s ${offMs > 0 ? "ahead of" : "behind"} the server`,
    todo: "Set both clocks (NTP): runs would be filed at the wrong time.",
  };
}

export function checkLimits({ body }: Answer): Check {
  const { batch_ingest_config: told } = JSON.parse(body) as {
    readonly batch_ingest_config?: unknown;
  };
  const { batchLimit, batchBytes } = parseServerInfo(JSON.parse(body));
  const mib = (batchBytes / 1_048_576).toFixed(1);
  const found = `${batchLimit.toLocaleString("en")} operations and ${mib} MiB a request`;
  return told === undefined
    ? { name: "limits", status: "warning", found: `none named; ${found} are assumed` }
    : { name: "limits", status: "ok", found };
}
