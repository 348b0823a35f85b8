import { isJsonObject, toText, withoutUndefined } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";
import { toExcerpt } from "./warnings.ts";

/**
 * Returns the error that a JSON body reports, or `undefined`. Recognizes `{ error: { message } }` of all providers,
 * Gemini's list with one such object, and `{ error: "text" }` of servers with OpenAI's format.
 */
export function findProviderError(value: unknown): string | undefined {
  const body: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (!isJsonObject(body) || body["error"] === null || body["error"] === undefined) {
    return undefined;
  }
  return toText(body["error"]) ?? describeError(body["error"]);
}

/** Describes an error object of a provider: its message, and its codes in parentheses. */
export function describeError(error: unknown): string | undefined {
  if (!isJsonObject(error)) {
    return undefined;
  }
  const message = toText(error["message"]);
  const codes = [error["type"], error["status"], error["code"]].filter(
    (code) => toText(code) !== undefined && code !== message,
  );
  const details = codes.length === 0 ? "" : `(${[...new Set(codes)].join(", ")})`;
  return [message ?? toExcerpt(JSON.stringify(error)), details].filter(Boolean).join(" ");
}

/**
 * Describes the error of a response with a status of 400 or more. Servers with OpenAI's format may report it in the
 * member `message` or `detail`, and proxies as an HTML page.
 */
export function describeRefusal(status: number, value: unknown, text: string): string {
  const body: JsonObject = isJsonObject(value) ? value : {};
  const message =
    findProviderError(value) ??
    toText(body["message"]) ??
    toText(body["detail"]) ??
    toPageTitle(text) ??
    toExcerpt(text);
  return message.startsWith(`${status}`) ? message : `${status} ${message}`.trimEnd();
}

/** Returns the title of an HTML page, which proxies send in place of the provider's error. */
export const toPageTitle = (text: string): string | undefined =>
  toText(toExcerpt(/<title[^>]*>([^<]{1,300})/i.exec(text.slice(0, 10_000))?.[1] ?? ""));

/** Converts the body of an error response to the outputs of a run. An object is kept as it is. */
export const toErrorOutputs = (value: unknown): JsonObject | undefined => {
  if (isJsonObject(value)) {
    return withoutUndefined(value);
  }
  return value === undefined ? undefined : { body: value };
};
