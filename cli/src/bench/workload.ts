/**
 * Payload of one run. Payloads are generated from a seed, so that every benchmark records the same runs. The same
 * objects are recorded repeatedly, so clients must not change them.
 */
export interface Payload {
  readonly name: string;
  readonly runType: "chain" | "llm";
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The names of the sizes of runs, from the smallest to the largest. */
export const sizeNames = ["S", "M", "L", "XL"] as const;
/** One of {@link sizeNames}. */
export type SizeName = (typeof sizeNames)[number];

interface Size {
  /** Size of one run's JSON on the wire in bytes, including all fields. */
  readonly runBytes: number;
  /** Average size of one text within the run, in UTF-8 bytes. */
  readonly textBytes: number;
}

/** The sizes of runs by name. */
export const sizes: Readonly<Record<SizeName, Size>> = {
  S: { runBytes: 1_300, textBytes: 180 },
  M: { runBytes: 5_500, textBytes: 500 },
  L: { runBytes: 42_000, textBytes: 1_500 },
  XL: { runBytes: 411_000, textBytes: 4_000 },
};

/** Number of children below the root of each trace. */
export const childrenPerTree = 9;
/** Number of runs of each trace. */
export const runsPerTree = 1 + childrenPerTree;

/**
 * Size in bytes of a run's JSON without its inputs and outputs: ids, dotted order, times, names and `extra`.
 */
const runOverheadBytes = 750;
/** Size in bytes of the JSON around each text: role, key and quotes. */
const textOverheadBytes = 40;
/** Fraction of a payload's texts that is in the inputs. The rest is in the outputs. */
const inputsShare = 0.7;
/** The payloads together exceed the CPU caches, so recording reads them from memory, as in a real program. */
const totalPayloadBytes = 16_777_216;
const maxPayloads = 2_000;

/** Creates the payloads of a size. A load records them in this order, and starts over after the last one. */
export function createPayloads(size: SizeName, seed = 1): readonly Payload[] {
  const random = createRandom(seed);
  const { runBytes, textBytes } = sizes[size];
  const count = Math.min(maxPayloads, Math.ceil(totalPayloadBytes / runBytes));
  const totalTextBytes = (runBytes - runOverheadBytes) / (1 + textOverheadBytes / textBytes);
  return Array.from({ length: count }, (_, index) =>
    createPayload(random, { index, totalTextBytes, textBytes }),
  );
}

interface PayloadPlan {
  readonly index: number;
  /** Total size of all texts of the payload, in bytes. */
  readonly totalTextBytes: number;
  readonly textBytes: number;
}

function createPayload(random: Random, { index, totalTextBytes, textBytes }: PayloadPlan): Payload {
  const inputBytes = totalTextBytes * inputsShare;
  const messages = createTexts(random, inputBytes, textBytes).map((content, turn) => ({
    role: turn === 0 ? "system" : "user",
    content,
  }));
  const choices = createTexts(random, totalTextBytes - inputBytes, textBytes).map((content) => ({
    role: "assistant",
    content,
  }));
  return {
    name: index % runsPerTree === 0 ? "answer" : "generate",
    runType: index % runsPerTree === 0 ? "chain" : "llm",
    inputs: { messages, model: "chat-large-2", temperature: 0.7, stream: false },
    outputs: {
      choices,
      finish_reason: "stop",
      usage: { input_tokens: 1 + Math.floor(random() * 9_000), output_tokens: 117, cached: null },
    },
    metadata: { release: "2026.11.1", attempt: 1 },
  };
}

/** Creates texts of about `textBytes` each and about `bytes` together. */
function createTexts(random: Random, bytes: number, textBytes: number): readonly string[] {
  const count = Math.max(1, Math.round(bytes / textBytes));
  return Array.from({ length: count }, () => createText(random, bytes / count));
}

/**
 * Letters by kind of text: ASCII; Latin-1 (one byte per character in V8, two in UTF-8); and characters beyond
 * Latin-1 (two bytes in V8, two or three in UTF-8).
 */
const alphabets = {
  ascii: "etaoinshrdlucmfwypvbgkjqxz",
  latin1: "etaoinshrdluéàüößçñêåæø",
  twoByte: "етаоинсвлрдкмпу日本語言葉中文字",
} as const;

function chooseAlphabet(randomNumber: number): keyof typeof alphabets {
  if (randomNumber < 0.55) {
    return "ascii";
  }
  return randomNumber < 0.8 ? "latin1" : "twoByte";
}

/**
 * Creates random words. The string is flat: a concatenated one (a rope) would be flattened during the
 * measurement, by the first code that reads it.
 */
export function createText(random: Random, bytes: number): string {
  const letters = alphabets[chooseAlphabet(random())];
  const words: string[] = [];
  for (let writtenBytes = 0; writtenBytes < bytes;) {
    const word = Array.from({ length: 2 + Math.floor(random() * 9) }, () =>
      letters.charAt(Math.floor(random() * letters.length)),
    ).join("");
    words.push(word);
    writtenBytes += Buffer.byteLength(word) + 1;
  }
  return Buffer.from(words.join(" ")).toString("utf8");
}

type Random = () => number;

/** The generator mulberry32: numbers from 0 to 1, the same sequence for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
