import type { HttpRequest } from "../../transport/requester.ts";
import type { StreamedBody } from "../../transport/transport.ts";
import type { Endpoint } from "../../model/endpoints.ts";
import { ValidationError } from "../../model/errors.ts";

/** A list becomes a key that is repeated; what is `undefined` is left out. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;

export const jsonType = "application/json";

/** A body that is not JSON, or is JSON text already. */
export interface RequestBody {
  readonly contentType: string;
  readonly content: Uint8Array | StreamedBody;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** What one call of the endpoint table is made of. */
export interface CallInit {
  /** For each `:name` of the path. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  /** Body, sent as JSON. */
  readonly json?: unknown;
  /** Body, sent as it is, where there is no `json`. */
  readonly body?: RequestBody | undefined;
  /** Base address of another server, in place of the client's: it gets neither key nor extra headers. */
  readonly server?: string | undefined;
  /** The message of the error for a refusal. @defaultValue `Failed to <action>: <status> <detail>` */
  readonly messageOf?: ((refusal: Refusal) => string) | undefined;
  /** Tries, the first included. @defaultValue the client's option `attempts` */
  readonly attempts?: number | undefined;
  /** Whether this call may arrive twice with the effect of one. @defaultValue as the endpoint table has it */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The request of a call.
 *
 * @throws {@link ValidationError} a path argument can't stand in a path, or the body is no JSON.
 */
export function requestOf(endpoint: Endpoint, init: CallInit, requestId: string): HttpRequest {
  const { method, action } = endpoint;
  const path = pathOf(endpoint, init.path ?? {}) + queryOf(init.query ?? {});
  const id = { "x-request-id": requestId };
  const body = init.json === undefined ? init.body : jsonBody(action, init.json);
  if (body === undefined) {
    return { method, path, headers: id };
  }
  return { method, path, headers: { ...id, "content-type": body.contentType }, body: body.content };
}

function pathOf({ path, action }: Endpoint, values: Readonly<Record<string, string>>): string {
  return path.replace(/:(\w+)/g, (_all, name: string) => {
    const value = values[name] ?? "";
    if (value === "" || value === "." || value === "..") {
      // These change which path it is, escaped or not.
      throw new ValidationError(
        `Failed to ${action}: ${name} can't be ${JSON.stringify(value)}, which would change the path of the request. Give the id or the name of what is meant`,
      );
    }
    // By way of UTF-8: half of a surrogate pair has no escape.
    return encodeURIComponent(Buffer.from(value).toString());
  });
}

function queryOf(values: Readonly<Record<string, QueryValue>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of [value ?? []].flat()) {
      query.append(name, String(one));
    }
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

function jsonBody(action: string, value: unknown): RequestBody {
  return { contentType: jsonType, content: Buffer.from(toJson(action, value)) };
}

/**
 * JSON text of what a caller gave.
 *
 * @throws {@link ValidationError} it can't be written as JSON; the message names the call.
 */
export function toJson(action: string, value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(`Failed to ${action}: not JSON: ${reason}`, { cause });
  }
}
