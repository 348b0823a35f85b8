import {
  ResponseError,
  CertificateError,
  NetworkError,
  OptionError,
  TimeoutError,
} from "../model/errors.ts";
import type { SdkError, SdkErrorOptions } from "../model/errors.ts";

const timeoutCodes = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "ETIMEDOUT",
]);

/** Failures from before there was a connection: nothing of the request was sent. */
const connectCodes = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);

const tooLargeCode = "UND_ERR_RES_EXCEEDED_MAX_SIZE";

/** Whether more came than is read of an answer. */
export const isTooLarge = (failure: unknown): boolean =>
  factsOf(failure).codes.includes(tooLargeCode);

/** Whether it is certain that nothing of the request was sent. */
export const isUnsent = (failure: unknown): boolean =>
  factsOf(failure).codes.some((code) => connectCodes.has(code));

/**
 * The error of our family for a failure to get an answer. What the server sent stays out of its causes:
 * a parser keeps what it could not read, and that may be our own request, sent back with the key.
 */
export function toError(action: string, failure: unknown, about: SdkErrorOptions = {}): SdkError {
  for (const error of chainOf(failure)) {
    Reflect.deleteProperty(error, "data");
  }
  const { names, codes, message } = factsOf(failure);
  const [code = ""] = codes;
  const text = `Failed to ${action}: ${message.includes(code) ? "" : `${code} `}${message}`;
  const options = { ...about, cause: failure };
  const hint = codes.map(certificateHint).find((found) => found !== undefined);
  if (hint !== undefined) {
    return new CertificateError(`${text}. ${hint}`, options);
  }
  if (codes.includes(tooLargeCode)) {
    return new ResponseError(`${text}: the answer is too large; ask for less`, options);
  }
  if (codes.includes("UND_ERR_INVALID_ARG")) {
    // Such as a header that can't be sent: no later try is different.
    return new OptionError(text, options);
  }
  if (codes.some((one) => timeoutCodes.has(one)) || names.includes("TimeoutError")) {
    return new TimeoutError(text, options);
  }
  return new NetworkError(text, options);
}

interface FailureFacts {
  readonly names: readonly string[];
  readonly codes: readonly string[];
  readonly message: string;
}

/** Names and codes of an error, of its parts and of its causes, and the first message that is not empty. */
function factsOf(failure: unknown): FailureFacts {
  const errors = chainOf(failure);
  const messages = errors.map(textOf).filter((message) => message !== "");
  return {
    names: errors.map(({ name }) => name),
    // Only texts: the code of a DOMException is a meaningless number, that of a parser may be missing.
    codes: errors.flatMap((error) =>
      "code" in error && typeof error.code === "string" ? [error.code] : [],
    ),
    message: messages[0] ?? (errors.length === 0 ? String(failure) : "no reason given"),
  };
}

/** OpenSSL's own messages are lists of places in its source; the reason beside them is the text. */
const textOf = (error: Error): string =>
  "library" in error && "reason" in error ? String(error.reason) : error.message.trim();

/** Longest chain of causes that is followed: a cause can be its own. */
const causeLimit = 5;

function chainOf(failure: unknown, depth = 0): readonly Error[] {
  if (!(failure instanceof Error) || depth > causeLimit) {
    return [];
  }
  // Connecting to a name that has several addresses fails with one error for each.
  const inner: readonly unknown[] = failure instanceof AggregateError ? failure.errors : [];
  return [failure, ...[...inner, failure.cause].flatMap((one) => chainOf(one, depth + 1))];
}

const otherName = "The certificate is made out to another name than the endpoint's.";
const untrusted = "The server's certificate can't be trusted; pass its authority as the option ca.";
const outOfDate = "The server's certificate is out of date.";
const clientWanted =
  "The server does not accept our certificate, or the lack of one; pass the options cert and key.";
const unreadable =
  "The option ca, cert or key is no PEM text that can be read, or the key is not the certificate's.";

/** By the codes of Node and OpenSSL. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/, otherName],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, outOfDate],
  [/^ERR_OSSL_/, unreadable],
  [/^ERR_SSL_.*ALERT.*(?:CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/, clientWanted],
  [
    /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/,
    untrusted,
  ],
];

/** What the user can do about a failure of a certificate; `undefined` for other codes. */
const certificateHint = (code: string): string | undefined =>
  hints.find(([pattern]) => pattern.test(code))?.[1];

/** A proxy answered, and would not connect us. */
export class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the proxy answered ${status}`);
    this.name = "ProxyRefusal";
    this.status = status;
  }
}
