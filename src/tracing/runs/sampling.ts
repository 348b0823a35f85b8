import { stampLength, uuidLength } from "../../model/dotted-order.ts";

/** A trace's hash is reduced modulo this number, so rates have a resolution of one in a million. */
const rateResolution = 1_000_000n;
const idLength = 36;

/**
 * Creates a function that decides whether a trace is recorded. It uses only the trace's id, so that all processes make
 * the same decision for a trace, whichever library they use. LangSmith's SDKs use the same rule: take the 128-bit XXH3
 * hash of the id in lower case, modulo one million, and keep the trace if the result divided by one million is below
 * the rate.
 *
 * @param rate the fraction of traces to record, 0 to 1.
 */
export function createSampler(rate: number): (traceId: string) => boolean {
  if (rate >= 1) {
    return () => true;
  }
  if (!(rate > 0)) {
    return () => false;
  }
  const text = Buffer.alloc(idLength);
  return (traceId) => {
    text.write(traceId.toLowerCase().padEnd(idLength), "latin1");
    return Number(hash36(text) % rateResolution) / Number(rateResolution) < rate;
  };
}

/** A mask that selects the lowest 64 bits of a number. The constants below are defined by the algorithm XXH3. */
const mask64 = 0xffff_ffff_ffff_ffffn;
const prime1 = 0x9e37_79b1_85eb_ca87n;
const prime2 = 0xc2b2_ae3d_27d4_eb4fn;
const prime4 = 0x85eb_ca77_c2b2_ae63n;
const primeMx1 = 0x1656_6791_9e37_79f9n;

/** The first 64 bytes of XXH3's secret. */
const xxh3Secret = Buffer.from(
  "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c",
  "hex",
);

/**
 * The 128-bit XXH3 hash with seed 0 of exactly 36 bytes: the algorithm's case for 33 to 64 bytes, with two mix rounds.
 */
function hash36(input: Buffer): bigint {
  let low = BigInt(idLength) * prime1;
  let high = 0n;
  for (const [first, second, key] of [
    [16, 4, 32],
    [0, 20, 0],
  ] as const) {
    low = ((low + mixBlocks(input, first, key)) & mask64) ^ sumBlocks(input, second);
    high = ((high + mixBlocks(input, second, key + 16)) & mask64) ^ sumBlocks(input, first);
  }
  const last = low * prime1 + high * prime4 + BigInt(idLength) * prime2;
  const upperHalf = -mixBits(last & mask64) & mask64;
  return (upperHalf << 64n) | mixBits((low + high) & mask64);
}

function mixBlocks(input: Buffer, offset: number, key: number): bigint {
  const product =
    (input.readBigUInt64LE(offset) ^ xxh3Secret.readBigUInt64LE(key)) *
    (input.readBigUInt64LE(offset + 8) ^ xxh3Secret.readBigUInt64LE(key + 8));
  return (product & mask64) ^ (product >> 64n);
}

const sumBlocks = (input: Buffer, offset: number): bigint =>
  (input.readBigUInt64LE(offset) + input.readBigUInt64LE(offset + 8)) & mask64;

function mixBits(hash: bigint): bigint {
  const mixedBits = ((hash ^ (hash >> 37n)) * primeMx1) & mask64;
  return mixedBits ^ (mixedBits >> 32n);
}

/** Returns the trace id of a run in wire format; the run's own `id` if it names no trace. */
export function readTraceId(id: unknown, run: unknown): string {
  if (typeof run === "object" && run !== null) {
    if ("trace_id" in run && typeof run.trace_id === "string") {
      return run.trace_id;
    }
    if ("dotted_order" in run && typeof run.dotted_order === "string") {
      return run.dotted_order.slice(stampLength, stampLength + uuidLength);
    }
  }
  return String(id);
}
