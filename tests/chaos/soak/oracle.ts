import type { ClientStats } from "millrace";
import { noDottedOrder } from "./journal.ts";
import type { Line, Part } from "./journal.ts";

/** The result of comparing all journals. An obligation is a record whose call returned, so that it must arrive. */
export interface Verdict {
  /** Descriptions of what went wrong; empty on success. Long lists are truncated. */
  readonly faults: readonly string[];
  /** Records that producers were about to record. */
  readonly intended: number;
  /** Records whose call returned. */
  readonly obliged: number;
  /** Obligations that arrived. */
  readonly arrived: number;
  /** Repeated arrivals of records. */
  readonly duplicates: number;
  /** Attachments that were replaced by an event, because the server did not accept multipart at that time. */
  readonly marked: number;
  /** Obligations that did not arrive. */
  readonly missing: number;
}

/** The number of records that must be missing: as many as the client counted as lost. */
export interface ExpectedLosses {
  readonly lost: number;
}

interface Obligation {
  readonly print: string;
  returned: boolean;
  arrivals: number;
}

const maxShownFaults = 20;

/**
 * Compares the records that arrived with those that were recorded. Each record whose call returned is an obligation. A record
 * that was about to be recorded when its process was killed may arrive, but only unaltered.
 */
export class Oracle {
  readonly #obligations = new Map<string, Obligation>();
  /** The dotted order of each run, from the first line that contains it. */
  readonly #dottedOrders = new Map<string, string>();
  readonly #faults: string[] = [];
  #faultCount = 0;
  #duplicates = 0;
  readonly #marked = new Set<string>();

  /** Processes a line of a producer's journal. */
  recorded(line: Line): void {
    if (line.is === "intent") {
      const key = keyOf(line.id, line.part);
      if (this.#obligations.has(key)) {
        this.#fault(`${key} was recorded twice: this is an error of the soak test itself`);
      }
      const { print } = line;
      this.#obligations.set(key, { print, returned: false, arrivals: 0 });
    } else if (line.is === "returned") {
      const obligation = this.#obligations.get(keyOf(line.id, line.part));
      if (obligation !== undefined) {
        obligation.returned = true;
        this.#checkDottedOrder(line.id, line.dottedOrder);
      }
    }
  }

  /** Processes a line of the server's journal. All lines of producers must have been processed before. */
  received(line: Line): void {
    if (line.is === "malformed") {
      this.#fault(`the server received malformed data: ${line.why}`);
    } else if (line.is === "omitted" || line.is === "stored") {
      const key = keyOf(line.id, line.part);
      const obligation = this.#obligations.get(key);
      if (obligation === undefined) {
        this.#fault(`${key} arrived and was never recorded`);
        return;
      }
      if (line.is === "omitted") {
        this.#marked.add(key);
        obligation.arrivals += 1;
        return;
      }
      if (obligation.print !== line.print) {
        const problem = obligation.arrivals === 0 ? "arrived altered" : "arrived again, altered";
        this.#fault(`${key} ${problem}`);
      }
      this.#checkDottedOrder(line.id, line.dottedOrder);
      this.#duplicates += obligation.arrivals > 0 ? 1 : 0;
      obligation.arrivals += 1;
    }
  }

  has(id: string, part: Part): boolean {
    return (this.#obligations.get(keyOf(id, part))?.arrivals ?? 0) > 0;
  }

  judge({ lost }: ExpectedLosses): Verdict {
    let obliged = 0;
    let arrived = 0;
    const missing: string[] = [];
    for (const [key, { returned, arrivals }] of this.#obligations) {
      if (returned) {
        obliged += 1;
        if (arrivals > 0) {
          arrived += 1;
        } else {
          missing.push(key);
        }
      }
    }
    if (missing.length !== lost) {
      const examples = missing.slice(0, 5).join(", ");
      this.#fault(
        `${missing.length} records are missing (${examples}), and ${lost} were counted as lost`,
      );
    }
    const hiddenFaults = this.#faultCount - this.#faults.length;
    return {
      faults: hiddenFaults === 0 ? this.#faults : [...this.#faults, `and ${hiddenFaults} more`],
      intended: this.#obligations.size,
      obliged,
      arrived,
      duplicates: this.#duplicates,
      marked: this.#marked.size,
      missing: missing.length,
    };
  }

  #checkDottedOrder(id: string, dottedOrder: string): void {
    const expected = this.#dottedOrders.get(id);
    if (dottedOrder === noDottedOrder) {
      return;
    }
    if (expected === undefined) {
      this.#dottedOrders.set(id, dottedOrder);
    } else if (expected !== dottedOrder) {
      this.#fault(`${id} has two dotted orders, so its start and end do not merge`);
    }
  }

  #fault(text: string): void {
    this.#faultCount += 1;
    if (this.#faults.length < maxShownFaults) {
      this.#faults.push(text);
    }
  }
}

const keyOf = (id: string, part: Part): string => `${id} ${part}`;

/** Describes why the counters of a client do not add up; empty if they do. */
export function counterFaults(stats: ClientStats): readonly string[] {
  const { accepted, delivered, rejected, dropped, spooled, pending, lost } = stats;
  const faults: string[] = [];
  const sum = delivered + rejected + dropped + spooled + pending;
  if (sum !== accepted) {
    faults.push(`${accepted} records were accepted, and ${sum} are in a counted state`);
  }
  const byReason = Object.values(lost).reduce((total, records) => total + records, 0);
  if (byReason !== rejected + dropped) {
    faults.push(`${rejected + dropped} records are lost, and ${byReason} by reason`);
  }
  const counts = { accepted, delivered, rejected, dropped, spooled, pending };
  for (const [name, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 0) {
      faults.push(`${name} is ${count}`);
    }
  }
  return faults;
}

export interface MemoryBounds {
  /** Maximum memory in buffers at any time. */
  readonly bufferBytes: number;
  /** Maximum growth of the process from the second to the last quarter of the samples. */
  readonly growthBytes: number;
}

export interface MemorySample {
  readonly rssBytes: number;
  readonly bufferBytes: number;
}

/** Describes why memory exceeded its limits; empty if it did not. */
export function memoryFaults(
  samples: readonly MemorySample[],
  { bufferBytes, growthBytes }: MemoryBounds,
): readonly string[] {
  const faults: string[] = [];
  const maximum = largest(samples.map((sample) => sample.bufferBytes));
  if (maximum > bufferBytes) {
    faults.push(`buffers used ${mb(maximum)}, more than ${mb(bufferBytes)}`);
  }
  const quarter = Math.floor(samples.length / 4);
  const peak = (from: number, to: number): number =>
    largest(samples.slice(from, to).map(({ rssBytes }) => rssBytes));
  const growth = peak(quarter * 3, samples.length) - peak(quarter, quarter * 2);
  if (quarter > 1 && growth > growthBytes) {
    faults.push(`the process grew by ${mb(growth)} from its second quarter to its last`);
  }
  return faults;
}

const largest = (numbers: readonly number[]): number =>
  numbers.reduce((maximum, number) => Math.max(maximum, number), 0);

const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;
