import { readLatin1, writeLatin1 } from "../../model/buffer-text.ts";
import { stampLength, uuidLength, writeStamp } from "../../model/dotted-order.ts";
import { writeUuid7 } from "../../model/uuid7.ts";

/** A buffer to write into, and a DataView of the same memory. */
export interface ByteTarget {
  readonly bytes: Buffer;
  readonly view: DataView;
}

const wordBytes = 8;
const dot = 0x2e;

/**
 * The dotted order of a run that has children: the text that states the run's ancestors, here as bytes. Each child's
 * dotted order begins with these bytes. Writing them eight at a time through a DataView is much faster than writing a
 * string, which is a call into the runtime.
 */
export class OrderBytes {
  /** Length of the dotted order in bytes. */
  readonly length: number;
  /**
   * The bytes as little-endian 64-bit floats, the last one padded with zeros. The text is ASCII, so none of the floats
   * is a NaN, whose bits could change on the way through a JavaScript number.
   */
  readonly #words: readonly number[];
  #text: string | undefined;

  private constructor({ bytes, view }: ByteTarget, length: number) {
    bytes.fill(0, length, length + wordBytes);
    const words: number[] = [];
    for (let offset = 0; offset < length; offset += wordBytes) {
      words.push(view.getFloat64(offset, true));
    }
    this.#words = words;
    this.length = length;
  }

  /** Creates the dotted order of a run from its position in the trace. */
  static fromPosition(position: TracePosition): OrderBytes {
    const length = measureOrder(position);
    const target = provideTarget(length);
    writeOrder(target, 0, position);
    return new OrderBytes(target, length);
  }

  /** Creates the bytes from the text of a dotted order, which must be ASCII. */
  static fromText(text: string): OrderBytes {
    const target = provideTarget(text.length);
    writeLatin1(target.bytes, text, 0);
    return new OrderBytes(target, text.length);
  }

  /** Writes the bytes, and up to seven zero bytes after them. */
  write(view: DataView, offset: number): void {
    const words = this.#words;
    for (let word = 0; word < words.length; word++) {
      view.setFloat64(offset + wordBytes * word, words[word] ?? 0, true);
    }
  }

  get text(): string {
    return (this.#text ??= this.#read());
  }

  #read(): string {
    const { bytes, view } = provideTarget(this.length);
    this.write(view, 0);
    return readLatin1(bytes, 0, this.length);
  }
}

/** A run's position in its trace. It determines the run's dotted order. */
export interface TracePosition {
  readonly id: string;
  readonly startMicros: number;
  /** The parent's dotted order; `undefined` for the root of a trace. */
  readonly parentOrder: OrderBytes | undefined;
}

/** Returns the length of a run's dotted order in bytes. */
export const measureOrder = ({ parentOrder }: TracePosition): number =>
  (parentOrder === undefined ? 0 : parentOrder.length + 1) + stampLength + uuidLength;

/** Writes a run's dotted order at byte `start`. It takes as many bytes as {@link measureOrder} returns. */
export function writeOrder(
  { bytes, view }: ByteTarget,
  start: number,
  position: TracePosition,
): void {
  const { id, startMicros, parentOrder } = position;
  let offset = start;
  if (parentOrder !== undefined) {
    parentOrder.write(view, offset);
    offset += parentOrder.length;
    bytes[offset++] = dot;
  }
  writeStamp(view, offset, startMicros);
  offset += stampLength;
  if (!writeUuid7(view, offset, id)) {
    writeLatin1(bytes, id, offset);
  }
}

const createTarget = (length: number): ByteTarget => {
  const bytes = Buffer.alloc(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) };
};

const scratch = createTarget(1_024);

/** Returns a target for `length` bytes and the padding of the last word; usually the shared scratch buffer. */
const provideTarget = (length: number): ByteTarget =>
  length + wordBytes > scratch.bytes.length ? createTarget(length + wordBytes) : scratch;
