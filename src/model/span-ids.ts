/** Converts a trace id of 16 bytes to a UUID. */
export const toTraceUuid = (traceId: string): string => toUuid(traceId);

/**
 * Converts a span id to a UUID. Span ids are unique within a trace only, so the first 8 bytes of the UUID are derived
 * from the trace id, and the last 8 bytes are the span id. The two halves of the trace id are combined by exclusive
 * or, because some clients leave one of them zero.
 */
export function toSpanUuid(traceId: string, spanId: string): string {
  const [high, low] = [traceId.slice(0, 16), traceId.slice(16)].map((half) => BigInt(`0x${half}`));
  const firstHalf = ((high ?? 0n) ^ (low ?? 0n)).toString(16).padStart(16, "0");
  return toUuid(firstHalf + spanId);
}

/** Returns the span id of a UUID that contains no trace id, that is, `00000000-0000-0000-` followed by 8 bytes. */
export function toSpanId(uuid: string): string | undefined {
  const hex = uuid.replaceAll("-", "").toLowerCase();
  return /^0{16}[\da-f]{16}$/.test(hex) ? hex.slice(16) : undefined;
}

const toUuid = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    "-",
  );

/**
 * Returns the trace id of OpenTelemetry for a trace of runs: the 16 bytes of its UUID as hexadecimal digits. The server
 * converts it back to the same UUID.
 */
export const toTraceId = (traceId: string): string => toHex(traceId);

/**
 * Returns the span id of OpenTelemetry for a run: the last 8 bytes of its UUID, which are random in all common versions
 * of UUIDs, as hexadecimal digits. A span id must not be zero: if these bytes are all zero, the first 8 bytes are used.
 */
export function toSpanIdOfRun(runId: string): string {
  const hex = toHex(runId);
  return [hex.slice(16), hex.slice(0, 16)].find((id) => !/^0*$/.test(id)) ?? "0000000000000001";
}

const toHex = (uuid: string): string => uuid.replaceAll("-", "").toLowerCase();
