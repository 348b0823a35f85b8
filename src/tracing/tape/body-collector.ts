/** Size of the first block, in bytes. Each next block has twice the size, up to {@link maxBlockBytes}. */
const firstBlockBytes = 4_096;
const maxBlockBytes = 262_144;

/**
 * Collects a body whose size is not known in advance. Each chunk is copied once, during the call. Of a body that is
 * larger than the limit, the beginning and the end are kept and the middle is omitted, so that memory does not grow
 * with the body.
 */
export class BodyCollector {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #blocks: Buffer[] = [];
  /** Number of bytes that are used of the last block. */
  #lastBlockBytes = 0;
  #headBytes = 0;
  /**
   * The last bytes of the body, in a ring buffer. Once it is full, the oldest byte is at {@link #tailBytes} modulo its
   * size.
   */
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
    const bytesForHead = Math.min(chunk.length, this.#headLimit - this.#headBytes);
    for (let offset = 0; offset < bytesForHead;) {
      offset += this.#addToBlock(chunk, offset, bytesForHead);
    }
    if (chunk.length > bytesForHead) {
      this.#addToTail(bytesForHead === 0 ? chunk : chunk.subarray(bytesForHead));
    }
  }

  /** The kept bytes, in order. The parts share the collector's memory. */
  get parts(): readonly Uint8Array[] {
    const lastIndex = this.#blocks.length - 1;
    const headParts = this.#blocks.map((block, index) =>
      index === lastIndex ? block.subarray(0, this.#lastBlockBytes) : block,
    );
    if (this.#tail === undefined) {
      return headParts;
    }
    const oldest = this.#tailBytes % this.#tailLimit;
    return this.#tailBytes <= this.#tailLimit
      ? [...headParts, this.#tail.subarray(0, this.#tailBytes)]
      : [...headParts, this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)];
  }

  /**
   * Removes the body. Its memory is reused for other bodies: call this only when the result of
   * {@link BodyCollector.parts} is no longer read.
   */
  clear(): void {
    for (const block of this.#blocks.splice(0)) {
      releaseBlock(block);
    }
    this.#lastBlockBytes = 0;
    this.#headBytes = 0;
    this.#tail = undefined;
    this.#tailBytes = 0;
  }

  /** Copies the bytes of a chunk between two offsets, as many as fit into the last block. Returns their number. */
  #addToBlock(chunk: Uint8Array, start: number, end: number): number {
    let block = this.#blocks.at(-1);
    if (block === undefined || this.#lastBlockBytes === block.length) {
      const usualSize = Math.min(firstBlockBytes * 2 ** this.#blocks.length, maxBlockBytes);
      const size = Math.min(Math.max(usualSize, end - start), this.#headLimit - this.#headBytes);
      block = takeBlock(size);
      this.#blocks.push(block);
      this.#lastBlockBytes = 0;
    }
    const count = Math.min(end - start, block.length - this.#lastBlockBytes);
    const isWhole = start === 0 && count === chunk.length;
    block.set(isWhole ? chunk : chunk.subarray(start, start + count), this.#lastBlockBytes);
    this.#lastBlockBytes += count;
    this.#headBytes += count;
    return count;
  }

  #addToTail(chunk: Uint8Array): void {
    const limit = this.#tailLimit;
    const tail = (this.#tail ??= Buffer.allocUnsafeSlow(limit));
    // Only the last bytes of a chunk that is larger than the ring remain in it.
    const keptPart = chunk.length > limit ? chunk.subarray(chunk.length - limit) : chunk;
    const start = (this.#tailBytes + chunk.length - keptPart.length) % limit;
    const firstLength = Math.min(keptPart.length, limit - start);
    tail.set(keptPart.subarray(0, firstLength), start);
    tail.set(keptPart.subarray(firstLength), 0);
    this.#tailBytes += chunk.length;
  }
}

/**
 * Maximum size in bytes of the unused blocks that are kept for other bodies. Creating a block costs more than copying
 * into it.
 */
const maxFreeBytes = 2_097_152;
/** Blocks that no body uses, by their size. Only the usual sizes are kept. */
const freeBlocks = new Map<number, Buffer[]>();
let freeBytes = 0;

function takeBlock(size: number): Buffer {
  const block = freeBlocks.get(size)?.pop();
  if (block === undefined) {
    return Buffer.allocUnsafeSlow(size);
  }
  freeBytes -= size;
  return block;
}

function releaseBlock(block: Buffer): void {
  const size = block.length;
  const isUsual =
    size >= firstBlockBytes && size <= maxBlockBytes && Number.isInteger(Math.log2(size));
  if (!isUsual || freeBytes + size > maxFreeBytes) {
    return;
  }
  const blocks = freeBlocks.get(size) ?? [];
  freeBlocks.set(size, blocks);
  blocks.push(block);
  freeBytes += size;
}
