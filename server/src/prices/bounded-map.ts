/** A map of limited size. When it is full, each new entry replaces the entry that was added first. */
export class BoundedMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#maxSize) {
      const [first] = this.#entries.keys();
      this.#entries.delete(String(first));
    }
    this.#entries.set(key, value);
  }
}
