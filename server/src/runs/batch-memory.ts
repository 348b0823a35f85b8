/** Minimum size of a pooled buffer. Allocating smaller buffers costs little. */
const minPooledBytes = 65_536;
/** Maximum size of a pooled buffer. The garbage collector frees larger ones. */
const maxPooledBytes = 8_388_608;
/** Maximum number of bytes in unused buffers. */
const maxFreeBytes = 16_777_216;
/**
 * Milliseconds between two checks for unused buffers. A buffer leaves the pool at the second check that finds it
 * unused, so after 5 to 10 seconds.
 */
const idleCheckIntervalMs = 5_000;

interface PooledBuffer {
  readonly buffer: ArrayBuffer;
  wasIdleAtLastCheck: boolean;
}

/**
 * Pool of buffers for the payloads of requests. Allocating a megabyte for each request would cost page faults and
 * major garbage collections, both on this thread and on the writer thread, to which the buffers are transferred.
 * Buffers are not cleared: a caller must only read the bytes that it has written itself.
 */
export class BatchMemory {
  /** The unused buffers; the most recently returned one is last. */
  #free: PooledBuffer[] = [];
  #freeBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Bytes of the unused buffers. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /**
   * Returns a buffer of at least `bytes` bytes with arbitrary contents. It has an ArrayBuffer of its own, which can
   * be transferred to another thread.
   */
  acquire(bytes: number): Buffer<ArrayBuffer> {
    if (bytes < minPooledBytes || bytes > maxPooledBytes) {
      return Buffer.allocUnsafeSlow(bytes);
    }
    const size = roundUp(bytes);
    // A much larger buffer stays in the pool for a request that needs its size.
    const index = this.#free.findLastIndex(
      ({ buffer }) => buffer.byteLength >= bytes && buffer.byteLength <= size * 2,
    );
    const [pooled] = index === -1 ? [] : this.#free.splice(index, 1);
    if (pooled === undefined) {
      return Buffer.allocUnsafeSlow(size);
    }
    this.#freeBytes -= pooled.buffer.byteLength;
    return Buffer.from(pooled.buffer);
  }

  /** Gives a buffer back to the pool. The caller must not use it any more. */
  release(buffer: ArrayBuffer): void {
    const { byteLength } = buffer;
    if (byteLength < minPooledBytes || byteLength > maxPooledBytes) {
      return;
    }
    this.#free.push({ buffer, wasIdleAtLastCheck: false });
    this.#freeBytes += byteLength;
    while (this.#freeBytes > maxFreeBytes) {
      this.#freeBytes -= this.#free.shift()?.buffer.byteLength ?? 0;
    }
    this.#timer ??= this.#startTimer();
  }

  /** The timer does not keep the process alive and is cleared once the pool is empty. */
  #startTimer(): NodeJS.Timeout {
    return setInterval(() => this.#releaseIdle(), idleCheckIntervalMs).unref();
  }

  #releaseIdle(): void {
    this.#free = this.#free.filter(({ wasIdleAtLastCheck }) => !wasIdleAtLastCheck);
    this.#freeBytes = this.#free.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    for (const pooled of this.#free) {
      pooled.wasIdleAtLastCheck = true;
    }
    if (this.#free.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/**
 * Rounds a size up, so that the requests of one program, whose sizes differ by a few bytes, can share buffers. The
 * step is a quarter of the largest power of two that does not exceed `bytes`.
 */
function roundUp(bytes: number): number {
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 2);
  return Math.ceil(bytes / step) * step;
}

/** The pool that all stores of this thread share. */
export const batchMemory = new BatchMemory();
