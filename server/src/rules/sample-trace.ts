import { createHash } from "node:crypto";

const fractionBits = 48;

/**
 * Whether a trace is in a sample. The same trace is in the sample of each rule with the same rate, and whenever it is
 * asked, so a rule that is applied again chooses the same traces.
 */
export function isSampled(traceId: string, rate: number): boolean {
  const digest = createHash("sha256").update(traceId).digest();
  return digest.readUIntBE(0, fractionBits / 8) / 2 ** fractionBits < rate;
}
