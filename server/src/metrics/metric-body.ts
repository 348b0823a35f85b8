import type { Histogram } from "./histogram.ts";
import { MetricCell } from "./metric-cell.ts";

/**
 * Which runs a cell counts. A cell contains the counts of the runs of one class that have one value of a dimension,
 * such as a model. Runs without a value have a cell of their own, and so do all runs with rare values.
 */
export interface CellKey {
  /** See `classesByScope`. */
  readonly runClass: number;
  readonly kind: "value" | "none" | "other";
  /** Empty unless the kind is `value`. */
  readonly value: string;
}

const kinds = ["value", "none", "other"] as const;

/**
 * Maximum number of values of a dimension in one body, which is the encoded counts of one unit of time. The runs with
 * all other values are counted together.
 */
export const maxValues = 50;

/** Longer values are not stored, because they would make a body large. Their runs are counted with the rare ones. */
const maxValueChars = 300;

/** Counts the runs of a unit of time by the values of one dimension. */
export class MetricCounts {
  readonly #cells = new Map<string, { readonly key: CellKey; readonly cell: MetricCell }>();

  get isEmpty(): boolean {
    return this.#cells.size === 0;
  }

  findOrCreate(key: CellKey): MetricCell {
    const storedKey: CellKey =
      key.value.length > maxValueChars ? { ...key, kind: "other", value: "" } : key;
    const id = `${storedKey.runClass}${storedKey.kind}${storedKey.value}`;
    const existing = this.#cells.get(id);
    if (existing !== undefined) {
      return existing.cell;
    }
    const cell = new MetricCell();
    this.#cells.set(id, { key: storedKey, cell });
    return cell;
  }

  /** Adds the counts of a stored body. */
  merge(body: Uint8Array): void {
    readBody(body, ({ key, addTo }) => addTo(this.findOrCreate(key)));
  }

  /** Encodes the counts. If there are too many values, those with the fewest runs are merged. */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    const cellWriter = new ByteWriter();
    for (const { key, cell } of this.#selectStored()) {
      writer.writeCount(key.runClass * kinds.length + kinds.indexOf(key.kind));
      writer.writeText(key.value);
      writer.writeCount(cell.runs);
      cellWriter.clear();
      cellWriter.writeCount(cell.errors);
      cellWriter.writeNumber(cell.tokens);
      cellWriter.writeNumber(cell.cost);
      cellWriter.writeNumber(cell.traceTokens);
      cellWriter.writeNumber(cell.traceCost);
      cellWriter.writeHistogram(cell.latency);
      cellWriter.writeHistogram(cell.firstToken);
      cellWriter.writeHistogram(cell.traceFirstToken);
      writer.writeBytes(cellWriter.written);
    }
    return new Uint8Array(writer.written);
  }

  #selectStored(): Iterable<{ readonly key: CellKey; readonly cell: MetricCell }> {
    const cells = [...this.#cells.values()];
    const runsByValue = new Map<string, number>();
    for (const { key, cell } of cells) {
      if (key.kind === "value") {
        runsByValue.set(key.value, (runsByValue.get(key.value) ?? 0) + cell.runs);
      }
    }
    if (runsByValue.size <= maxValues) {
      return cells;
    }
    const frequentValues = new Set(
      [...runsByValue]
        .toSorted(([a, runsA], [b, runsB]) => runsB - runsA || (a < b ? -1 : 1))
        .slice(0, maxValues)
        .map(([value]) => value),
    );
    const isStored = ({ key }: { readonly key: CellKey }): boolean =>
      key.kind !== "value" || frequentValues.has(key.value);
    const stored = new MetricCounts();
    for (const entry of cells) {
      const { runClass } = entry.key;
      const key: CellKey = isStored(entry) ? entry.key : { runClass, kind: "other", value: "" };
      stored.findOrCreate(key).merge(entry.cell);
    }
    return stored.#cells.values();
  }
}

/** A stored cell of metrics. Its numbers are decoded on demand, because most queries need only some of the cells. */
export interface StoredCell {
  readonly key: CellKey;
  readonly runs: number;
  /** Adds the numbers of the cell to another one. */
  readonly addTo: (cell: MetricCell) => void;
}

/** Reads the cells of an encoded body. */
export function readBody(body: Uint8Array, onCell: (cell: StoredCell) => void): void {
  const reader = new ByteReader(body);
  while (reader.hasMore) {
    const code = reader.readCount();
    const value = reader.readText();
    const runs = reader.readCount();
    const bytes = reader.readBytes();
    onCell({
      key: {
        runClass: Math.floor(code / kinds.length),
        kind: kinds[code % kinds.length] ?? "other",
        value,
      },
      runs,
      addTo: (cell) => {
        cell.runs += runs;
        addNumbers(cell, new ByteReader(bytes));
      },
    });
  }
}

function addNumbers(cell: MetricCell, reader: ByteReader): void {
  cell.errors += reader.readCount();
  cell.tokens += reader.readNumber();
  cell.cost += reader.readNumber();
  cell.traceTokens += reader.readNumber();
  cell.traceCost += reader.readNumber();
  reader.addHistogram(cell.latency);
  reader.addHistogram(cell.firstToken);
  // The bodies of earlier versions end here.
  if (reader.hasMore) {
    reader.addHistogram(cell.traceFirstToken);
  }
}

/** Writes numbers in few bytes: seven bits of a count per byte, the lowest first. */
class ByteWriter {
  #bytes = Buffer.alloc(256);
  #length = 0;

  writeCount(count: number): void {
    this.#reserve(8);
    let remaining = count;
    while (remaining >= 0x80) {
      this.#bytes[this.#length++] = (remaining % 0x80) | 0x80;
      remaining = Math.floor(remaining / 0x80);
    }
    this.#bytes[this.#length++] = remaining;
  }

  writeNumber(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  writeText(text: string): void {
    this.writeBytes(Buffer.from(text));
  }

  writeBytes(bytes: Uint8Array): void {
    this.writeCount(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  writeHistogram({ counts }: Histogram): void {
    this.writeCount(counts.size);
    let lastBucket = 0;
    for (const [bucket, count] of [...counts].toSorted(([a], [b]) => a - b)) {
      this.writeCount(bucket - lastBucket);
      this.writeCount(count);
      lastBucket = bucket;
    }
  }

  clear(): void {
    this.#length = 0;
  }

  /** The bytes that were written, as a view of the writer's memory. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(length: number): void {
    if (this.#length + length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
  }
}

/** Reads what a {@link ByteWriter} has written. */
class ByteReader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get hasMore(): boolean {
    return this.#position < this.#bytes.length;
  }

  readCount(): number {
    let count = 0;
    let factor = 1;
    for (;;) {
      const byte = this.#bytes[this.#position++] ?? 0;
      count += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        return count;
      }
      factor *= 0x80;
    }
  }

  readNumber(): number {
    const value = this.#bytes.readDoubleLE(this.#position);
    this.#position += 8;
    return value;
  }

  readText(): string {
    return this.readBytes().toString("utf8");
  }

  readBytes(): Buffer {
    const length = this.readCount();
    this.#position += length;
    return this.#bytes.subarray(this.#position - length, this.#position);
  }

  addHistogram(histogram: Histogram): void {
    let bucket = 0;
    for (let remaining = this.readCount(); remaining > 0; remaining -= 1) {
      bucket += this.readCount();
      histogram.addCount(bucket, this.readCount());
    }
  }
}
