const mebibyte = 1_048_576;

/** The limits of one call to another host. */
export interface OutboundLimits {
  /** Milliseconds for resolving the name and connecting, TLS included. */
  readonly connectMs: number;
  /** Milliseconds from the sent request to the end of the response's headers. */
  readonly headersMs: number;
  /** Longest pause between two parts of the response, in milliseconds. */
  readonly idleMs: number;
  /** Milliseconds for the whole call, so that a host that sends a byte at a time can't keep it open. */
  readonly totalMs: number;
  /** Maximum number of bytes of the response. A call with a larger response fails. */
  readonly responseBytes: number;
}

/** The limits of a call, unless its request sets others. */
export const defaultOutboundLimits: OutboundLimits = {
  connectMs: 5_000,
  headersMs: 15_000,
  idleMs: 15_000,
  totalMs: 30_000,
  responseBytes: mebibyte,
};

/** Calls that run at the same time: of one tenant, and of all tenants. */
export const outboundCalls = { ofTenant: 16, ofAll: 64 } as const;

/**
 * Maximum number of names that are resolved at the same time. Until the name server answers, each of them occupies one
 * of the few threads that also read files.
 */
export const outboundLookups = 2;

/** Bytes of the headers of a response. */
export const outboundHeaderBytes = 32_768;
