import { ProxyError, sendRequest } from "./send-request.ts";
import type { Settings } from "./settings.ts";

/** A request to a server. */
export interface ServerCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
}

/**
 * Calls a server, and returns the JSON of its response.
 *
 * @throws Error if the server does not respond, refuses the request, or its response is not JSON.
 */
export async function callServer(
  settings: Settings,
  { method, path, body, timeoutMs }: ServerCall,
): Promise<unknown> {
  const { endpoint, apiKey } = settings;
  const headers = apiKey === undefined ? {} : { "x-api-key": apiKey.value };
  // The origin leaves out credentials that the URL may contain.
  const server = URL.canParse(endpoint.value) ? new URL(endpoint.value).origin : endpoint.value;
  let response;
  try {
    response = await sendRequest(settings, path, { method, headers, body, timeoutMs });
  } catch (cause) {
    if (cause instanceof ProxyError) {
      throw new Error(`no response from ${server}: ${cause.message}. ${cause.todo}`, { cause });
    }
    throw new Error(
      `no response from ${server}: ${describeError(cause)}. Start a server with "npx millrace serve", or set --endpoint or MILLRACE_ENDPOINT; run "millrace doctor" for details`,
      { cause },
    );
  }
  const json = parseJson(response.body);
  if (response.status < 200 || response.status >= 300) {
    throw new Error(`${describeFailure(json)} (${response.status} from ${server})`);
  }
  if (json === undefined) {
    throw new Error(
      `the response of ${server} is not JSON: set --endpoint to a Millrace server of this version`,
    );
  }
  return json;
}

function describeError(cause: unknown): string {
  const { message, code } = cause as Partial<Record<"message" | "code", unknown>>;
  return [code, message].filter((text) => typeof text === "string" && text !== "").join(" ");
}

/** Returns the reason that an error response contains. */
function describeFailure(json: unknown): string {
  const detail: unknown =
    typeof json === "object" && json !== null ? Reflect.get(json, "detail") : undefined;
  if (Array.isArray(detail)) {
    return detail
      .map(({ loc, msg }: { readonly loc: readonly string[]; readonly msg: string }) =>
        [loc.join("."), msg].join(" "),
      )
      .join("; ");
  }
  return typeof detail === "string" ? detail : "the server refused the request";
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // The caller reports the status, or that the response is not JSON.
    return undefined;
  }
}
