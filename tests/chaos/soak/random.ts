import { createHash } from "node:crypto";

/**
 * A seeded random number generator (xoshiro128**). The state has 128 bits: with 32 bits, the sequences of the
 * hundreds of processes in an hour's soak would overlap, and two of them would draw the same ids.
 */
export class Random {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    const digest = createHash("sha256").update(`seed ${seed}`).digest();
    this.#state = Uint32Array.from({ length: 4 }, (_, index) => digest.readUInt32LE(index * 4));
  }

  /** A number from 0 to below 1. */
  next(): number {
    const state = this.#state;
    const [first = 0, second = 0, third = 0, fourth = 0] = state;
    const result = Math.imul(rotateLeft(Math.imul(second, 5), 7), 9) >>> 0;
    const next = third ^ first;
    const last = fourth ^ second;
    state[0] = first ^ last;
    state[1] = second ^ next;
    state[2] = next ^ (second << 9);
    state[3] = rotateLeft(last, 11);
    return result / 4_294_967_296;
  }

  /** A whole number from `min` to `max`. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.integer(0, items.length - 1)] ?? items[0];
  }

  /** The items in random order. */
  shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, at: this.next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }

  /** A version 4 UUID. */
  uuid(): string {
    const digits = Array.from({ length: 32 }, () => this.integer(0, 15).toString(16));
    digits[12] = "4";
    digits[16] = this.pick(["8", "9", "a", "b"]);
    const hex = digits.join("");
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join("-");
  }
}

const rotateLeft = (value: number, bits: number): number =>
  ((value << bits) | (value >>> (32 - bits))) >>> 0;
