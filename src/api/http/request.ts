import type { HttpRequest } from "../../transport/requester.ts";
import type { StreamedBody } from "../../transport/transport.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { ValidationError } from "../../model/errors.ts";

/** Value of a query parameter. A list repeats the parameter; `undefined` omits it. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;

/** Content type of request bodies that are JSON. */
export const jsonType = "application/json";

/** A request body that is already encoded. It may have any content type, including JSON. */
export interface RequestBody {
  readonly contentType: string;
  readonly content: Uint8Array | StreamedBody;
}

/** Status and body of an error response. */
export interface HttpErrorResponse {
  readonly status: number;
  readonly body: string;
}

/** Arguments of one call to an endpoint of the endpoint table. */
export interface CallInit {
  /** A value for each `:name` in the endpoint's path. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  /** Request body, sent as JSON. */
  readonly json?: unknown;
  /** Request body that is already encoded; used if there is no `json`. */
  readonly body?: RequestBody | undefined;
  /**
   * Base URL of another server to call instead of the client's. The other server receives neither the API key nor the
   * client's extra headers.
   */
  readonly server?: string | undefined;
  /**
   * Creates the error message for an error response. If it returns `undefined`, the default message is used.
   *
   * @defaultValue `Failed to <action>: <status> <detail>`
   */
  readonly createErrorMessage?: ((response: HttpErrorResponse) => string | undefined) | undefined;
  /** Maximum number of attempts, including the first. @defaultValue the client's option `attempts` */
  readonly attempts?: number | undefined;
  /**
   * Whether sending this call twice has the same effect as sending it once.
   *
   * @defaultValue true, except for a POST that the endpoint table does not mark as `repeatable`
   */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Builds the HTTP request of a call.
 *
 * @throws {@link ValidationError} if a value can't be a segment of the path, or the body can't be written as JSON.
 */
export function buildRequest(endpoint: Endpoint, init: CallInit, requestId: string): HttpRequest {
  const { method, action } = endpoint;
  const path = buildPath(endpoint, init.path ?? {}) + buildQuery(init.query ?? {});
  const requestIdHeader = { "x-request-id": requestId };
  const body = init.json === undefined ? init.body : encodeJson(action, init.json);
  if (body === undefined) {
    return { method, path, headers: requestIdHeader };
  }
  return {
    method,
    path,
    headers: { ...requestIdHeader, "content-type": body.contentType },
    body: body.content,
  };
}

function buildPath({ path, action }: Endpoint, values: Readonly<Record<string, string>>): string {
  return path.replace(/:(\w+)/g, (_all, name: string) => {
    const value = values[name] ?? "";
    if (value === "" || value === "." || value === "..") {
      // An empty, `.` or `..` segment changes which path the URL refers to, whether it is escaped or not.
      throw new ValidationError(
        `Failed to ${action}: ${name} can't be ${JSON.stringify(value)}, which would change the path of the request. Pass an id or a name`,
      );
    }
    // The conversion to UTF-8 and back replaces lone surrogates, for which encodeURIComponent would throw.
    return encodeURIComponent(Buffer.from(value).toString());
  });
}

function buildQuery(values: Readonly<Record<string, QueryValue>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const item of [value ?? []].flat()) {
      query.append(name, String(item));
    }
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

function encodeJson(action: string, value: unknown): RequestBody {
  return { contentType: jsonType, content: Buffer.from(toJson(action, value)) };
}

/**
 * Serializes a caller's value as JSON.
 *
 * @throws {@link ValidationError} if JSON can't represent it; the message contains `action`.
 */
export function toJson(action: string, value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(`Failed to ${action}: a value can't be written as JSON: ${reason}`, {
      cause,
    });
  }
}
