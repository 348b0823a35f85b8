/** Size of the first block, in bytes. Each next block has twice the size, up to {@link maxBlockBytes}. */
const firstBlockBytes = 4_096;
const maxBlockBytes = 262_144;

/**
 * Collects a body whose size is not known in advance. Each chunk is copied once, during the call. Of a body that is larger
 * than the limit, the beginning and the end are kept and the middle is omitted, so that memory does not grow with the
 * body.
 */
export class BodyCollector {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #blocks: Buffer[] = [];
  /** Number of bytes that are used of the last block. */
  #usedOfLast = 0;
  #headBytes = 0;
  /** The last bytes of the body; a ring, in which {@link #tailBytes} modulo its size is the oldest byte. */
  #tail: Buffer | undefined;
  #tailBytes = 0;

  constructor(limitBytes: number) {
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#tailLimit = Math.max(1, Math.floor(limitBytes / 2));
  }

  /** Number of bytes that were added. */
  get totalBytes(): number {
    return this.#headBytes + this.#tailBytes;
  }

  /** Number of bytes that are not kept. */
  get omittedBytes(): number {
    return Math.max(0, this.#tailBytes - this.#tailLimit);
  }

  /** Offset in the kept bytes at which the omitted bytes were. */
  get omittedAt(): number {
    return this.#headBytes;
  }

  /** Number of bytes that are kept. */
  get keptBytes(): number {
    return this.totalBytes - this.omittedBytes;
  }

  /** Copies a chunk. */
  add(chunk: Uint8Array): void {
    const forHead = Math.min(chunk.length, this.#headLimit - this.#headBytes);
    for (let offset = 0; offset < forHead;) {
      offset += this.#addToBlock(chunk, offset, forHead);
    }
    if (chunk.length > forHead) {
      this.#addToTail(forHead === 0 ? chunk : chunk.subarray(forHead));
    }
  }

  /** The kept bytes, in order. The parts share the collector's memory. */
  get parts(): readonly Uint8Array[] {
    const last = this.#blocks.length - 1;
    const head = this.#blocks.map((block, index) =>
      index === last ? block.subarray(0, this.#usedOfLast) : block,
    );
    if (this.#tail === undefined) {
      return head;
    }
    const oldest = this.#tailBytes % this.#tailLimit;
    return this.#tailBytes <= this.#tailLimit
      ? [...head, this.#tail.subarray(0, this.#tailBytes)]
      : [...head, this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)];
  }

  /**
   * Forgets the body. Its memory is used for other bodies: call this only when nothing reads {@link BodyCollector.parts} any
   * more.
   */
  clear(): void {
    for (const block of this.#blocks.splice(0)) {
      giveBlockBack(block);
    }
    this.#usedOfLast = 0;
    this.#headBytes = 0;
    this.#tail = undefined;
    this.#tailBytes = 0;
  }

  /** Copies as much as fits into the last block, and returns the number of bytes. */
  #addToBlock(chunk: Uint8Array, from: number, to: number): number {
    let block = this.#blocks.at(-1);
    if (block === undefined || this.#usedOfLast === block.length) {
      const usual = Math.min(firstBlockBytes * 2 ** this.#blocks.length, maxBlockBytes);
      const size = Math.min(Math.max(usual, to - from), this.#headLimit - this.#headBytes);
      block = takeBlock(size);
      this.#blocks.push(block);
      this.#usedOfLast = 0;
    }
    const count = Math.min(to - from, block.length - this.#usedOfLast);
    const isWhole = from === 0 && count === chunk.length;
    block.set(isWhole ? chunk : chunk.subarray(from, from + count), this.#usedOfLast);
    this.#usedOfLast += count;
    this.#headBytes += count;
    return count;
  }

  #addToTail(chunk: Uint8Array): void {
    const limit = this.#tailLimit;
    const tail = (this.#tail ??= Buffer.allocUnsafeSlow(limit));
    // Only the last bytes of a chunk that is larger than the ring remain in it.
    const kept = chunk.length > limit ? chunk.subarray(chunk.length - limit) : chunk;
    const start = (this.#tailBytes + chunk.length - kept.length) % limit;
    const first = Math.min(kept.length, limit - start);
    tail.set(kept.subarray(0, first), start);
    tail.set(kept.subarray(first), 0);
    this.#tailBytes += chunk.length;
  }
}

/** How many bytes of blocks are kept for other bodies. To create them costs more than to copy into them. */
const maxKeptBytes = 2_097_152;
/** Blocks that no body uses, by their size. Only the usual sizes are kept. */
const keptBlocks = new Map<number, Buffer[]>();
let keptBytes = 0;

function takeBlock(size: number): Buffer {
  const block = keptBlocks.get(size)?.pop();
  if (block === undefined) {
    return Buffer.allocUnsafeSlow(size);
  }
  keptBytes -= size;
  return block;
}

function giveBlockBack(block: Buffer): void {
  const size = block.length;
  const isUsual =
    size >= firstBlockBytes && size <= maxBlockBytes && Number.isInteger(Math.log2(size));
  if (!isUsual || keptBytes + size > maxKeptBytes) {
    return;
  }
  const blocks = keptBlocks.get(size) ?? [];
  keptBlocks.set(size, blocks);
  blocks.push(block);
  keptBytes += size;
}
