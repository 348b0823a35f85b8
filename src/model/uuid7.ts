import { randomFillSync } from "node:crypto";
import { readLatin1 } from "./buffer-text.ts";

/** Sources of time and randomness for ids. */
export interface Uuid7Sources {
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Fills the whole array with random bytes. */
  readonly random: (bytes: Uint8Array) => void;
}

/**
 * Number of random bytes that are generated at once, because one call of the random generator costs
 * as much as creating many ids.
 */
const poolBytes = 4_096;
/** Number of bytes at the end of an id that consist only of random bits. */
const randomTailBytes = 5;
/**
 * Maximum number of random bytes that one id needs: four for the start value of the counter, one for
 * the step of the counter, one for two random bits, and the bytes at the end of the id.
 */
const bytesPerId = 4 + 1 + 1 + randomTailBytes;
const counterLimit = 2 ** 32;
/** The largest time that the 48 bits of a version 7 UUID hold. */
const maxTimeMs = 2 ** 48 - 1;

/** Creates version 7 UUIDs, and writes them into buffers. */
export interface Uuid7Generator {
  /**
   * Creates an id for a time in milliseconds since the Unix epoch, by default the current time of
   * `now`.
   */
  readonly create: (time?: number) => string;
  /**
   * Writes `id` if it is the last id that was created. Otherwise writes nothing and returns false.
   */
  readonly write: (view: DataView, offset: number, id: string) => boolean;
}

/**
 * Creates a generator of version 7 UUIDs (RFC 9562) that are ordered within the process, even if the clock stands still
 * or steps back. An id consists of 48 bits of milliseconds, a 32-bit counter that starts at a random value in each
 * millisecond and increases by random steps, and 42 new random bits. The time of each id comes from `now`, or is passed
 * by a caller that already knows the time.
 */
export function createUuid7Generator({ now, random }: Uuid7Sources): Uuid7Generator {
  const pool = Buffer.alloc(poolBytes);
  // The text of the last id, as bytes. Converting it creates one flat string. A concatenated string would remain a tree
  // of strings as long as the id is kept. It would take four times the memory, and the garbage collector would have to
  // free many small strings.
  const idBytes = Buffer.from("00000000-0000-7000-0000-000000000000", "latin1");
  const idView = new DataView(idBytes.buffer, idBytes.byteOffset, idBytes.length);
  let lastId = "";
  let usedPoolBytes = poolBytes;
  let lastTimeMs = -1;
  let counter = 0;

  const writeHexPair = (offset: number, byte: number): void => {
    idView.setUint16(offset, hexPairs[byte] ?? 0, true);
  };

  const startMillisecond = (nextTimeMs: number): void => {
    // Write byte by byte, because `toString(16)` of a number above 2^31 takes several microseconds. If ids are created
    // less than once in a millisecond, this code runs for each id.
    const high = Math.floor(nextTimeMs / 65_536);
    const low = nextTimeMs % 65_536;
    writeHexPair(0, high >>> 24);
    writeHexPair(2, (high >>> 16) & 0xff);
    writeHexPair(4, (high >>> 8) & 0xff);
    writeHexPair(6, high & 0xff);
    writeHexPair(9, low >>> 8);
    writeHexPair(11, low & 0xff);
    // The top bit stays clear, so that at least eight million steps are possible before the counter overflows.
    counter = pool.readUInt32LE(usedPoolBytes) >>> 1;
    usedPoolBytes += 4;
    lastTimeMs = nextTimeMs;
  };

  const create = (timeMs = now()): string => {
    // Clear `lastId` first: if an exhausted stack interrupts this call, `idBytes` is not the text of any id, and
    // `write` must not copy it.
    lastId = "";
    const time = Math.floor(timeMs);
    if (usedPoolBytes + bytesPerId > poolBytes) {
      random(pool);
      usedPoolBytes = 0;
    }
    if (time > lastTimeMs && time <= maxTimeMs) {
      startMillisecond(time);
    } else {
      counter += 1 + (pool[usedPoolBytes++] ?? 0);
      if (counter >= counterLimit || lastTimeMs < 0) {
        startMillisecond(lastTimeMs + 1);
      }
    }
    // The counter spans three groups: 12 bits, 14 bits after the variant, 6 bits.
    const middle = (counter >>> 6) & 0x3f_ff;
    idBytes[15] = hexDigits[counter >>> 28] ?? 0;
    writeHexPair(16, (counter >>> 20) & 0xff);
    writeHexPair(19, 0x80 | (middle >>> 8));
    writeHexPair(21, middle & 0xff);
    writeHexPair(24, ((counter & 0x3f) << 2) | ((pool[usedPoolBytes] ?? 0) & 3));
    for (let tailIndex = 1; tailIndex <= randomTailBytes; tailIndex++) {
      writeHexPair(24 + 2 * tailIndex, pool[usedPoolBytes + tailIndex] ?? 0);
    }
    usedPoolBytes += 1 + randomTailBytes;
    lastId = readLatin1(idBytes, 0, idBytes.length);
    return lastId;
  };

  const write = (view: DataView, offset: number, id: string): boolean => {
    if (id !== lastId) {
      return false;
    }
    // Copy eight bytes at a time as a 64-bit float. The text is ASCII, so none of the floats is a NaN. The bits of a
    // NaN could change when it is stored as a JavaScript number.
    for (let i = 0; i < 32; i += 8) {
      view.setFloat64(offset + i, idView.getFloat64(i, true), true);
    }
    view.setInt32(offset + 32, idView.getInt32(32, true), true);
    return true;
  };

  return { create, write };
}

const hexDigits = Buffer.from("0123456789abcdef", "latin1");
/** The two hexadecimal digits of each byte value, as a little-endian 16-bit integer. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, "0"), "latin1").readUInt16LE(),
);

const processGenerator = createUuid7Generator({
  now: () => Date.now(),
  random: (bytes) => {
    randomFillSync(bytes);
  },
});

/**
 * Creates an id for a time in milliseconds since the Unix epoch.
 * @defaultValue the current time
 */
export const createUuid7 = processGenerator.create;

/**
 * Writes `id` if it is the last id that {@link createUuid7} created, and returns whether it was.
 * This is the usual case, because a run is recorded right after its id was created.
 */
export const writeUuid7 = processGenerator.write;
