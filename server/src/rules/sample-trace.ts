import { createHash } from "node:crypto";

const fractionBits = 48;

/**
 * Whether a trace is in the sample of a rule. The result depends only on the trace id and the rate, so a rule that is
 * applied again chooses the same traces.
 */
export function isSampled(traceId: string, rate: number): boolean {
  const digest = createHash("sha256").update(traceId).digest();
  return digest.readUIntBE(0, fractionBits / 8) / 2 ** fractionBits < rate;
}
