/** Smaller pieces are made anew each time: they cost little. */
const leastBytes = 65_536;
/** Larger ones are left to the collector. */
const mostBytes = 8_388_608;
/** What waits for its next use, at most. */
const freeBytesMax = 16_777_216;
/** Milliseconds after which a piece is let go that was not used; twice that where it came late. */
const idleMs = 5_000;

interface Piece {
  readonly memory: ArrayBuffer;
  isOld: boolean;
}

/**
 * Memory for the payloads of a request, used again when they are stored: a megabyte a request that is
 * made anew costs page faults and major collections on both threads. Its bytes are left as they were: who takes a
 * piece keeps to what it has written there.
 */
export class BatchMemory {
  /** The last was used last. */
  #free: Piece[] = [];
  #freeBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** What waits for its next use. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** At least that many bytes, whatever stands in them, in a piece of their own that can be transferred. */
  take(bytes: number): Buffer<ArrayBuffer> {
    if (bytes < leastBytes || bytes > mostBytes) {
      return Buffer.allocUnsafeSlow(bytes);
    }
    const size = roundUp(bytes);
    // A piece much larger is left to who needs it.
    const at = this.#free.findLastIndex(
      ({ memory }) => memory.byteLength >= bytes && memory.byteLength <= size * 2,
    );
    const [piece] = at === -1 ? [] : this.#free.splice(at, 1);
    if (piece === undefined) {
      return Buffer.allocUnsafeSlow(size);
    }
    this.#freeBytes -= piece.memory.byteLength;
    return Buffer.from(piece.memory);
  }

  /** Returns a piece that is no longer used. */
  give(memory: ArrayBuffer): void {
    const { byteLength } = memory;
    if (byteLength < leastBytes || byteLength > mostBytes) {
      return;
    }
    this.#free.push({ memory, isOld: false });
    this.#freeBytes += byteLength;
    while (this.#freeBytes > freeBytesMax) {
      this.#freeBytes -= this.#free.shift()?.memory.byteLength ?? 0;
    }
    this.#timer ??= this.#startTimer();
  }

  /** It keeps no process alive, and ends with the last piece. */
  #startTimer(): NodeJS.Timeout {
    return setInterval(() => this.#letGo(), idleMs).unref();
  }

  #letGo(): void {
    this.#free = this.#free.filter(({ isOld }) => !isOld);
    this.#freeBytes = this.#free.reduce((sum, { memory }) => sum + memory.byteLength, 0);
    for (const piece of this.#free) {
      piece.isOld = true;
    }
    if (this.#free.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** To a quarter of a power of two: requests of one program differ by a few bytes, and share pieces. */
function roundUp(bytes: number): number {
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 2);
  return Math.ceil(bytes / step) * step;
}

/** Of all stores of this thread. */
export const batchMemory = new BatchMemory();
