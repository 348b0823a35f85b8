/** Why a call to another host failed. */
export type OutboundErrorCode =
  /** The address is malformed, or not one that may be called. */
  | "ADDRESS"
  /** The tenant, or the server, makes too many calls at once. */
  | "BUSY"
  /** The name of the host has no address. */
  | "NAME"
  /** No connection was made, or it broke. */
  | "CONNECTION"
  /** The certificate of the host is not valid. */
  | "CERTIFICATE"
  /** The host took longer than one of the limits. */
  | "TIMEOUT"
  /** The response leads to another address. */
  | "REDIRECT"
  /** The response is too large, or not HTTP. */
  | "RESPONSE"
  /** The caller canceled the call, or the server is closing. */
  | "CANCELED";

/**
 * Thrown for a call to another host that failed. The message names the host and the reason. It contains no path, query,
 * header or body, because these may contain keys. For the same reason, the error has no `cause`.
 */
export class OutboundError extends Error {
  readonly code: OutboundErrorCode;
  /** The status of the response, if there was one. */
  readonly status: number | undefined;

  constructor(code: OutboundErrorCode, message: string, status?: number) {
    super(message);
    this.name = "OutboundError";
    this.code = code;
    this.status = status;
  }
}

/** For each code of an error of Node or undici: our code, and the reason for the message. */
const reasons: Readonly<Record<string, readonly [code: OutboundErrorCode, reason: string]>> = {
  ENOTFOUND: ["NAME", "the name of the host has no address"],
  EAI_AGAIN: ["NAME", "the name of the host could not be resolved now"],
  ENODATA: ["NAME", "the name of the host has no address"],
  ECONNREFUSED: ["CONNECTION", "the connection was refused"],
  ECONNRESET: ["CONNECTION", "the host closed the connection"],
  EPIPE: ["CONNECTION", "the host closed the connection"],
  UND_ERR_SOCKET: ["CONNECTION", "the host closed the connection"],
  EHOSTUNREACH: ["CONNECTION", "the host can't be reached"],
  ENETUNREACH: ["CONNECTION", "the network of the host can't be reached"],
  ETIMEDOUT: ["TIMEOUT", "the host did not accept the connection in time"],
  UND_ERR_CONNECT_TIMEOUT: ["TIMEOUT", "the host did not accept the connection in time"],
  UND_ERR_HEADERS_TIMEOUT: ["TIMEOUT", "the host did not respond in time"],
  UND_ERR_BODY_TIMEOUT: ["TIMEOUT", "the response paused for too long"],
  UND_ERR_HEADERS_OVERFLOW: ["RESPONSE", "the headers of the response are too large"],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ["RESPONSE", "the response is incomplete"],
  UND_ERR_INVALID_ARG: ["ADDRESS", "the request has an invalid header or path"],
  CERT_HAS_EXPIRED: ["CERTIFICATE", "the certificate has expired"],
  CERT_NOT_YET_VALID: ["CERTIFICATE", "the certificate is not yet valid"],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["CERTIFICATE", "the certificate is self-signed"],
  SELF_SIGNED_CERT_IN_CHAIN: ["CERTIFICATE", "a certificate in the chain is self-signed"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["CERTIFICATE", "the certificate's issuer is not known"],
  UNABLE_TO_GET_ISSUER_CERT: ["CERTIFICATE", "the certificate's issuer is not known"],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["CERTIFICATE", "the certificate's issuer is not known"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["CERTIFICATE", "the certificate is for another host"],
  EPROTO: ["CERTIFICATE", "the host does not speak TLS"],
};

/** Converts what a connection threw to an error without the original texts, which may contain parts of the request. */
export function toOutboundError(cause: unknown, origin: string): OutboundError {
  if (cause instanceof OutboundError) {
    return cause;
  }
  const code = codeOf(cause);
  const [kind, reason] = reasons[code] ?? fallbackReason(code);
  return new OutboundError(kind, `Failed to call ${origin}: ${reason}`);
}

const fallbackReason = (code: string): readonly [OutboundErrorCode, string] => {
  if (code.startsWith("HPE_")) {
    return ["RESPONSE", "the response is not HTTP"];
  }
  if (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) {
    return ["CERTIFICATE", `no secure connection could be made (${code})`];
  }
  return ["CONNECTION", code === "" ? "the connection failed" : `the connection failed (${code})`];
};

/** Returns the code of an error. If several addresses were tried, this is the code for the first one. */
const codeOf = (cause: unknown): string => {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  // Undici gives most errors of its parser no code.
  if (first instanceof Error && first.name === "HTTPParserError") {
    return "HPE_INVALID";
  }
  const code: unknown = first instanceof Error && "code" in first ? first.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? code : "";
};
