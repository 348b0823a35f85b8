import type { IncomingHttpHeaders } from "node:http";
import type { FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

/**
 * The API key with which an author sent a request. It is known only for keys that were created on the server, not for
 * those in its configuration.
 */
export interface RequestKey {
  readonly id: string;
  readonly name: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The key of the request; `null` without a key, or with one from the server's configuration. */
    apiKey: RequestKey | null;
  }
}

/**
 * Who makes a request. There are no accounts: a person chooses a name, and anyone else can choose the same one. Only
 * the key is verified.
 */
export interface Author {
  readonly name: string | null;
  readonly key: RequestKey | null;
}

/** The header with the percent-encoded name that the person at the UI has chosen. */
export const authorHeader = "x-millrace-author";

/** The names that people may choose, as a pattern of JSON Schema. */
export const personNamePattern = String.raw`^(?!\s)[^\p{Cc}\p{Cs}]*(?<!\s)$`;

const personName = new RegExp(personNamePattern, "u");

/**
 * Reads who makes a request.
 *
 * @throws RequestError 422: the header has no valid name.
 */
export function readAuthor({
  headers,
  apiKey,
}: Pick<FastifyRequest, "headers" | "apiKey">): Author {
  const text = headers[authorHeader];
  if (text === undefined || text === "") {
    return { name: null, key: apiKey };
  }
  const name = decodeName(String(text));
  if (name === undefined || !personName.test(name) || name.length > serverLimits.reviewerChars) {
    throw new RequestError(
      422,
      `${authorHeader} must be a percent-encoded name of 1 to ${serverLimits.reviewerChars} characters, without control characters and without spaces around it`,
    );
  }
  return { name, key: apiKey };
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // Malformed: the caller rejects it.
  }
}

/** Maximum length of the recorded name of a client program. */
const maxClientChars = 100;

/**
 * Returns the program that sent a request, from the header User-Agent: its first product with the version, or
 * `browser`. Returns `null` if the header names no program.
 */
export function nameClient({ "user-agent": agent = "" }: IncomingHttpHeaders): string | null {
  if (agent.startsWith("Mozilla/")) {
    return "browser";
  }
  const [product = ""] = agent.split(" ");
  return product === "" ? null : product.replace("/", " ").slice(0, maxClientChars);
}
