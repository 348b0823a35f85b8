import type { ClientStats } from "millrace";
import { nowhere } from "./journal.ts";
import type { Line, Part } from "./journal.ts";

/** What became of the obligations of one producer. */
export interface Verdict {
  /** Why it failed, in words; empty where it did not. Long lists are cut. */
  readonly faults: readonly string[];
  /** Records about to be made. */
  readonly intended: number;
  /** Records whose call returned. */
  readonly obliged: number;
  /** Obligations that arrived. */
  readonly arrived: number;
  /** Arrivals beyond the first of each record, all the same as the first. */
  readonly duplicates: number;
  /** Attachments in whose place an event says why: the server took no parts at that time. */
  readonly marked: number;
  /** Obligations that did not arrive. */
  readonly missing: number;
}

/** How many records may be missing: exactly as many as the client counted as lost. */
export interface Allowance {
  readonly lost: number;
}

interface Obligation {
  readonly print: string;
  done: boolean;
  place: string | undefined;
  arrivals: number;
}

const shownFaults = 20;

/**
 * Judges what arrived by what was recorded. Each record that a call returned from is an obligation; one
 * that was about to be made when its process was killed may arrive, but only whole.
 */
export class Oracle {
  readonly #obligations = new Map<string, Obligation>();
  /** The place of each run, as the first that spoke of it said. */
  readonly #places = new Map<string, string>();
  readonly #faults: string[] = [];
  #faultCount = 0;
  #duplicates = 0;
  readonly #marked = new Set<string>();

  /** What a producer wrote down. */
  recorded(line: Line): void {
    if (line.is === "will") {
      const key = keyOf(line.id, line.part);
      if (this.#obligations.has(key)) {
        this.#fault(`${key} was recorded twice: the soak is at fault`);
      }
      const { print } = line;
      this.#obligations.set(key, { print, done: false, place: undefined, arrivals: 0 });
    } else if (line.is === "done") {
      const obligation = this.#obligations.get(keyOf(line.id, line.part));
      if (obligation !== undefined) {
        obligation.done = true;
        this.#checkPlace(line.id, line.place);
      }
    }
  }

  /** What a server wrote down; all that producers wrote was told before. */
  received(line: Line): void {
    if (line.is === "odd") {
      this.#fault(`the server could not read something: ${line.why}`);
    } else if (line.is === "left" || line.is === "got") {
      const key = keyOf(line.id, line.part);
      const obligation = this.#obligations.get(key);
      if (obligation === undefined) {
        this.#fault(`${key} arrived and was never recorded`);
        return;
      }
      if (line.is === "left") {
        this.#marked.add(key);
        obligation.arrivals += 1;
        return;
      }
      if (obligation.print !== line.print) {
        const first = obligation.arrivals === 0 ? "arrived altered" : "came again, altered";
        this.#fault(`${key} ${first}`);
      }
      this.#checkPlace(line.id, line.place);
      this.#duplicates += obligation.arrivals > 0 ? 1 : 0;
      obligation.arrivals += 1;
    }
  }

  has(id: string, part: Part): boolean {
    return (this.#obligations.get(keyOf(id, part))?.arrivals ?? 0) > 0;
  }

  judge({ lost }: Allowance): Verdict {
    let obliged = 0;
    let arrived = 0;
    const missing: string[] = [];
    for (const [key, { done, arrivals }] of this.#obligations) {
      if (done) {
        obliged += 1;
        if (arrivals > 0) {
          arrived += 1;
        } else {
          missing.push(key);
        }
      }
    }
    if (missing.length !== lost) {
      const some = missing.slice(0, 5).join(", ");
      this.#fault(
        `${missing.length} records are missing (${some}), and ${lost} were counted as lost`,
      );
    }
    const rest = this.#faultCount - this.#faults.length;
    return {
      faults: rest === 0 ? this.#faults : [...this.#faults, `and ${rest} more`],
      intended: this.#obligations.size,
      obliged,
      arrived,
      duplicates: this.#duplicates,
      marked: this.#marked.size,
      missing: missing.length,
    };
  }

  #checkPlace(id: string, place: string): void {
    const known = this.#places.get(id);
    if (place === nowhere) {
      return;
    }
    if (known === undefined) {
      this.#places.set(id, place);
    } else if (known !== place) {
      this.#fault(`${id} is in two places: a start and an end that do not merge`);
    }
  }

  #fault(text: string): void {
    this.#faultCount += 1;
    if (this.#faults.length < shownFaults) {
      this.#faults.push(text);
    }
  }
}

const keyOf = (id: string, part: Part): string => `${id} ${part}`;

/** Why the counters of a client do not add up; empty where they do. */
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
  /** Most memory in buffers at any time. */
  readonly bufferBytes: number;
  /** Most memory by which the process may be larger in the last quarter than in the second. */
  readonly growthBytes: number;
}

export interface MemorySample {
  readonly rssBytes: number;
  readonly bufferBytes: number;
}

/** Why memory did not stay in its bounds; empty where it did. */
export function memoryFaults(
  samples: readonly MemorySample[],
  { bufferBytes, growthBytes }: MemoryBounds,
): readonly string[] {
  const faults: string[] = [];
  const most = largest(samples.map((sample) => sample.bufferBytes));
  if (most > bufferBytes) {
    faults.push(`buffers took ${mb(most)}, beyond ${mb(bufferBytes)}`);
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
  numbers.reduce((most, number) => Math.max(most, number), 0);

const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;
