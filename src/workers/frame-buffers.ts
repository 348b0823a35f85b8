/** Keeps the output buffers of requests for reuse: a fresh megabyte costs 256 page faults. */
export class FrameBuffers {
  readonly #limitBytes: number;
  #keptBytes = 0;
  readonly #free: Buffer[] = [];

  /** Keeps at most `limitBytes` of unused buffers. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** A buffer of at least `size` bytes, its content undefined. */
  take(size: number): Buffer {
    const index = this.#free.findIndex((buffer) => buffer.length >= size);
    const [found] = index === -1 ? [] : this.#free.splice(index, 1);
    if (found === undefined) {
      return Buffer.allocUnsafeSlow(Math.max(65_536, size));
    }
    this.#keptBytes -= found.length;
    return found;
  }

  give(buffer: Buffer): void {
    if (this.#keptBytes + buffer.length <= this.#limitBytes) {
      this.#free.push(buffer);
      this.#keptBytes += buffer.length;
    }
  }
}
