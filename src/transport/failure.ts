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

/** Error codes from before a connection was established: nothing of the request was sent. */
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

/** Whether a request failed because its response exceeded the size limit. */
export const isTooLarge = (failure: unknown): boolean =>
  collectFacts(failure).codes.includes(tooLargeCode);

/** Whether it is certain that no part of the request was sent. */
export const isUnsent = (failure: unknown): boolean =>
  collectFacts(failure).codes.some((code) => connectCodes.has(code));

/**
 * Converts a failed request to an error of this package. The property `data` is removed from the failure and its
 * causes: an HTTP parser stores there the part of a response that it could not parse. That part may be the request
 * itself with the API key, if the server sent the request back.
 */
export function toError(
  action: string,
  failure: unknown,
  errorOptions: SdkErrorOptions = {},
): SdkError {
  for (const error of collectErrors(failure)) {
    Reflect.deleteProperty(error, "data");
  }
  const { names, codes, message } = collectFacts(failure);
  const [code = ""] = codes;
  const text = `Failed to ${action}: ${message.includes(code) ? "" : `${code} `}${message}`;
  const options = { ...errorOptions, cause: failure };
  const advice = codes.map(findCertificateAdvice).find((found) => found !== undefined);
  if (advice !== undefined) {
    return new CertificateError(`${text}. ${advice}`, options);
  }
  if (codes.includes(tooLargeCode)) {
    return new ResponseError(
      `${text}: the response is too large; request less data, or raise maxResponseBytes`,
      options,
    );
  }
  if (codes.includes("UND_ERR_INVALID_ARG")) {
    // The request is invalid, for example a header that can't be sent. Another attempt would fail too.
    return new OptionError(text, options);
  }
  if (codes.some((errorCode) => timeoutCodes.has(errorCode)) || names.includes("TimeoutError")) {
    return new TimeoutError(text, options);
  }
  return new NetworkError(text, options);
}

/** The names and codes of the errors of a failed request, and their first message. */
interface FailureFacts {
  readonly names: readonly string[];
  readonly codes: readonly string[];
  readonly message: string;
}

/** Names and codes of an error, of the errors that it aggregates and of its causes, and the first non-empty message. */
function collectFacts(failure: unknown): FailureFacts {
  const errors = collectErrors(failure);
  const messages = errors.map(readMessage).filter((message) => message !== "");
  return {
    names: errors.map(({ name }) => name),
    // Only strings are used: the code of a DOMException is a meaningless number, and the code of a parser
    // error may be missing.
    codes: errors.flatMap((error) =>
      "code" in error && typeof error.code === "string" ? [error.code] : [],
    ),
    message: messages[0] ?? (errors.length === 0 ? String(failure) : "no reason given"),
  };
}

/** The message of an OpenSSL error lists positions in OpenSSL's source code. The useful text is in `reason`. */
const readMessage = (error: Error): string =>
  "library" in error && "reason" in error ? String(error.reason) : error.message.trim();

/** Maximum depth of causes that is followed: an error can be its own cause. */
const causeLimit = 5;

function collectErrors(failure: unknown, depth = 0): readonly Error[] {
  if (!(failure instanceof Error) || depth > causeLimit) {
    return [];
  }
  // Connecting to a host name with several addresses fails with one error for each address.
  const inner: readonly unknown[] = failure instanceof AggregateError ? failure.errors : [];
  return [
    failure,
    ...[...inner, failure.cause].flatMap((cause) => collectErrors(cause, depth + 1)),
  ];
}

const wrongNameAdvice = "The certificate is for a different host name than the endpoint's.";
const untrustedAdvice =
  "The server's certificate can't be trusted; pass its certificate authority as the option ca.";
const expiredAdvice = "The server's certificate has expired or is not valid yet.";
const clientCertificateAdvice =
  "The server requires a client certificate or rejects the one that was sent; pass the options cert and key.";
const unreadableAdvice =
  "The option ca, cert or key is not valid PEM text, or the key does not belong to the certificate.";

/** Advice by error code of Node or OpenSSL. */
const certificateAdvice: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/, wrongNameAdvice],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, expiredAdvice],
  [/^ERR_OSSL_/, unreadableAdvice],
  [/^ERR_SSL_.*ALERT.*(?:CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/, clientCertificateAdvice],
  [
    /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/,
    untrustedAdvice,
  ],
];

/** Returns advice for an error with certificates; `undefined` for other error codes. */
const findCertificateAdvice = (code: string): string | undefined =>
  certificateAdvice.find(([pattern]) => pattern.test(code))?.[1];

/** The proxy that a request was sent to, for messages. */
export interface UsedProxy {
  /** Its address without user and password. */
  readonly origin: string;
  /** The variable or option that set it. */
  readonly source?: string | undefined;
}

/**
 * Returns an error whose message names the proxy and what set it. The error that occurs while connecting to the proxy
 * names neither.
 */
export function addProxyName({ origin, source }: UsedProxy, cause: Error): Error {
  const shown = `the proxy ${origin}${source === undefined ? "" : ` (${source})`}`;
  const { message } = collectFacts(cause);
  return new Error(
    isUnsent(cause) ? `${shown} can't be reached: ${message}` : `at ${shown}: ${message}`,
    { cause },
  );
}

/** A proxy responded and refused the connection. */
export class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the proxy responded with status ${status}`);
    this.name = "ProxyRefusal";
    this.status = status;
  }
}
