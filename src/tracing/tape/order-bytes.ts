import { readLatin1, writeLatin1 } from "../../model/buffer-text.ts";
import { stampLength, uuidLength, writeStamp } from "../../model/dotted-order.ts";
import { writeUuid7 } from "../../model/uuid7.ts";

/** Bytes to write into, and a view of the same. */
export interface ByteTarget {
  readonly bytes: Buffer;
  readonly view: DataView;
}

const wordBytes = 8;
const dot = 0x2e;

/**
 * The dotted order of a run that has children, as the bytes that each of them begins its own with: a move of eight
 * bytes at a time is a fraction of a call into the runtime, which writing a text is.
 */
export class OrderBytes {
  /** In bytes. */
  readonly length: number;
  /** Little-endian numbers of 64 bits, the last one filled up with zeros: as the text is ASCII, none of them is a NaN. */
  readonly #words: readonly number[];
  #text: string | undefined;

  private constructor({ bytes, view }: ByteTarget, length: number) {
    bytes.fill(0, length, length + wordBytes);
    const words: number[] = [];
    for (let at = 0; at < length; at += wordBytes) {
      words.push(view.getFloat64(at, true));
    }
    this.#words = words;
    this.length = length;
  }

  /** Of a run's place in its trace. */
  static at(position: TracePosition): OrderBytes {
    const length = orderLength(position);
    const target = targetFor(length);
    writeOrder(target, 0, position);
    return new OrderBytes(target, length);
  }

  /** Of a dotted order, which is ASCII. */
  static of(text: string): OrderBytes {
    const target = targetFor(text.length);
    writeLatin1(target.bytes, text, 0);
    return new OrderBytes(target, text.length);
  }

  /** Writes it, and up to seven bytes more. */
  write(view: DataView, at: number): void {
    const words = this.#words;
    for (let word = 0; word < words.length; word++) {
      view.setFloat64(at + wordBytes * word, words[word] ?? 0, true);
    }
  }

  get text(): string {
    return (this.#text ??= this.#read());
  }

  #read(): string {
    const { bytes, view } = targetFor(this.length);
    this.write(view, 0);
    return readLatin1(bytes, 0, this.length);
  }
}

/** A run's place in its trace, of which its dotted order is made. */
export interface TracePosition {
  readonly id: string;
  readonly startMicros: number;
  /** Its parent's; absent for the root of a trace. */
  readonly parentOrder: OrderBytes | undefined;
}

/** Bytes of a run's dotted order. */
export const orderLength = ({ parentOrder }: TracePosition): number =>
  (parentOrder === undefined ? 0 : parentOrder.length + 1) + stampLength + uuidLength;

/** Writes a run's dotted order into {@link orderLength} bytes. */
export function writeOrder(
  { bytes, view }: ByteTarget,
  from: number,
  position: TracePosition,
): void {
  const { id, startMicros, parentOrder } = position;
  let at = from;
  if (parentOrder !== undefined) {
    parentOrder.write(view, at);
    at += parentOrder.length;
    bytes[at++] = dot;
  }
  writeStamp(view, at, startMicros);
  at += stampLength;
  if (!writeUuid7(view, at, id)) {
    writeLatin1(bytes, id, at);
  }
}

const createTarget = (length: number): ByteTarget => {
  const bytes = Buffer.alloc(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
};

const scratch = createTarget(1_024);

/** For so many bytes and a word more. */
const targetFor = (length: number): ByteTarget =>
  length + wordBytes > scratch.bytes.length ? createTarget(length + wordBytes) : scratch;
