/** Bytes of what a worker remembers, of all traces; beyond it those that were sent longest ago go. */
const rememberedBytes = 16_777_216;
/** A digest in a set, about. */
const digestCost = 100;
/** Lists of one trace that are compared with a new one. */
const listsOfTrace = 4;
/** A trace of which the server forgot so often is sent inline; each request that it took makes up for a little. */
const missesLimit = 3;
const missRecovery = 0.1;

/** A list that was sent: its items as they were on the tape, and its digest. */
export interface SentList {
  readonly items: Buffer;
  readonly digest: string;
}

/** What the server has of one trace. */
interface TraceContent {
  digests: Set<string>;
  lists: readonly SentList[];
  bytes: number;
  misses: number;
}

/**
 * What the server is known to hold, by trace: what it took in requests that it answered with yes.
 * It may forget, and this may forget: then content goes once more.
 */
export class ContentDeduplication {
  /** In the order of their last use. */
  readonly #traces = new Map<string, TraceContent>();
  readonly #bytesLimit: number;
  #bytes = 0;

  constructor(bytesLimit: number = rememberedBytes) {
    this.#bytesLimit = bytesLimit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For what one more request will bring. */
  draft(): ContentDraft {
    return new ContentDraft((traceId) => this.#traces.get(traceId), this);
  }

  /** The server took a request. */
  learn(drafts: ReadonlyMap<string, TraceDraft>): void {
    for (const [traceId, draft] of drafts) {
      const { digests, lists, misses } = this.#take(traceId);
      for (const digest of draft.digests) {
        digests.add(digest);
      }
      const rest = lists.filter((list) => !draft.lists.some((own) => extendsList(own, list)));
      this.#put(traceId, {
        digests,
        lists: [...draft.lists.toReversed(), ...rest].slice(0, listsOfTrace),
        misses: Math.max(0, misses - missRecovery),
        bytes: 0,
      });
    }
    for (const [traceId] of this.#traces) {
      if (this.#bytes <= this.#bytesLimit) {
        return;
      }
      this.#take(traceId);
    }
  }

  /** The server has not, or no more, what it was thought to have of a trace. */
  forget(traceId: string): void {
    const { misses } = this.#take(traceId);
    this.#put(traceId, { ...nothing(), misses: misses + 1 });
  }

  #take(traceId: string): TraceContent {
    const found = this.#traces.get(traceId);
    this.#traces.delete(traceId);
    this.#bytes -= found?.bytes ?? 0;
    return found ?? nothing();
  }

  #put(traceId: string, content: TraceContent): void {
    const { digests, lists } = content;
    content.bytes = lists.reduce(
      (sum, { items }) => sum + items.length,
      (digests.size + 2) * digestCost,
    );
    this.#traces.set(traceId, content);
    this.#bytes += content.bytes;
  }
}

const nothing = (): TraceContent => ({ digests: new Set(), lists: [], bytes: 0, misses: 0 });

/** Whether a list is another one, with more items or as many. */
const extendsList = (list: SentList, { items }: SentList): boolean =>
  list.items.length >= items.length &&
  list.items.compare(items, 0, items.length, 0, items.length) === 0;

type FindTrace = (traceId: string) => TraceContent | undefined;

/** What the server will hold once it has taken one request, which is being written. */
export class ContentDraft {
  readonly #traces = new Map<string, TraceDraft>();
  readonly #traceOfRun = new Map<string, string>();
  readonly #find: FindTrace;
  readonly #deduplication: ContentDeduplication;

  constructor(find: FindTrace, known: ContentDeduplication) {
    this.#find = find;
    this.#deduplication = known;
  }

  /** What is known for a run of a trace; `undefined` where the trace is to be sent inline. */
  trace(traceId: string, runId: string): TraceDraft | undefined {
    const drafted = this.#traces.get(traceId);
    const known = this.#find(traceId);
    if (drafted === undefined && (known?.misses ?? 0) >= missesLimit) {
      return undefined;
    }
    const draft = drafted ?? new TraceDraft(known);
    this.#traces.set(traceId, draft);
    this.#traceOfRun.set(runId, traceId);
    return draft;
  }

  /** The server took the request, but for these runs. */
  settle(refused: readonly { readonly id: string }[]): void {
    for (const { id } of refused) {
      const traceId = this.#traceOfRun.get(id) ?? "";
      if (this.#traces.delete(traceId)) {
        this.#deduplication.forget(traceId);
      }
    }
    this.#deduplication.learn(this.#traces);
  }
}

export class TraceDraft {
  readonly digests = new Set<string>();
  readonly lists: SentList[] = [];
  readonly #sent: TraceContent | undefined;

  constructor(known: TraceContent | undefined) {
    this.#sent = known;
  }

  has(digest: string): boolean {
    return this.#sent?.digests.has(digest) === true || this.digests.has(digest);
  }

  /** The longest list that begins as the items at `start` of a tape do. */
  longestAt(tape: Buffer, start: number): SentList | undefined {
    let longest: SentList | undefined;
    for (const lists of [this.lists, this.#sent?.lists ?? []]) {
      for (const list of lists) {
        const { length } = list.items;
        if (
          length > (longest?.items.length ?? 0) &&
          start + length <= tape.length &&
          tape.compare(list.items, 0, length, start, start + length) === 0
        ) {
          longest = list;
        }
      }
    }
    return longest;
  }

  /** A copy: the tape is written anew while the server has not answered yet, where all is given up. */
  addList(items: Buffer, digest: string): void {
    const list = { items: Buffer.from(items), digest };
    const shorter = this.lists.findIndex((other) => extendsList(list, other));
    if (shorter !== -1) {
      this.lists.splice(shorter, 1);
    }
    this.lists.push(list);
    if (this.lists.length > listsOfTrace) {
      this.lists.shift();
    }
  }
}
