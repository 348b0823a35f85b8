/**
 * Maximum bytes that a worker uses to remember sent content of all traces. Above this limit, the least recently used
 * traces are forgotten.
 */
const maxRememberedBytes = 16_777_216;
const approximateDigestBytes = 100;
/** Maximum number of lists remembered for one trace. A new list is compared with each of them. */
const listsPerTrace = 4;
/**
 * After the server forgot content of a trace this many times, the trace is sent in full. Each
 * accepted request reduces the count by `missRecovery`.
 */
const maxMisses = 3;
const missRecovery = 0.1;

/** A list that was sent: its items, encoded as in the recorded run, and its digest. */
export interface SentList {
  readonly items: Buffer;
  readonly digest: string;
}

/** The content that the server has of one trace. */
interface TraceContent {
  digests: Set<string>;
  lists: readonly SentList[];
  bytes: number;
  /** How often a request referred to content that the server did not have. */
  misses: number;
}

/**
 * Tracks for each trace which content the server has, namely the content of the requests that the server accepted. Both
 * the server and this class may forget content, which is then sent once more.
 */
export class ContentDeduplication {
  /** In order of last use, the least recently used first. */
  readonly #traces = new Map<string, TraceContent>();
  readonly #bytesLimit: number;
  #bytes = 0;

  constructor(bytesLimit: number = maxRememberedBytes) {
    this.#bytesLimit = bytesLimit;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Creates a draft that collects the content of the next request. */
  createDraft(): ContentDraft {
    return new ContentDraft((traceId) => this.#traces.get(traceId), this);
  }

  /** Remembers the content of a request that the server accepted. */
  rememberSent(drafts: ReadonlyMap<string, TraceDraft>): void {
    for (const [traceId, draft] of drafts) {
      const { digests, lists, misses } = this.#remove(traceId);
      for (const digest of draft.digests) {
        digests.add(digest);
      }
      const otherLists = lists.filter(
        (list) => !draft.addedLists.some((newer) => beginsWithList(newer, list)),
      );
      this.#store(traceId, {
        digests,
        lists: [...draft.addedLists.toReversed(), ...otherLists].slice(0, listsPerTrace),
        misses: Math.max(0, misses - missRecovery),
        bytes: 0,
      });
    }
    for (const [traceId] of this.#traces) {
      if (this.#bytes <= this.#bytesLimit) {
        return;
      }
      this.#remove(traceId);
    }
  }

  /** Forgets the content of a trace, because the server no longer has all of it. */
  forget(traceId: string): void {
    const { misses } = this.#remove(traceId);
    this.#store(traceId, { ...createEmptyContent(), misses: misses + 1 });
  }

  #remove(traceId: string): TraceContent {
    const content = this.#traces.get(traceId);
    this.#traces.delete(traceId);
    this.#bytes -= content?.bytes ?? 0;
    return content ?? createEmptyContent();
  }

  #store(traceId: string, content: TraceContent): void {
    const { digests, lists } = content;
    content.bytes = lists.reduce(
      (sum, { items }) => sum + items.length,
      (digests.size + 2) * approximateDigestBytes,
    );
    this.#traces.set(traceId, content);
    this.#bytes += content.bytes;
  }
}

const createEmptyContent = (): TraceContent => ({
  digests: new Set(),
  lists: [],
  bytes: 0,
  misses: 0,
});

/** Whether a list begins with all items of another list. */
const beginsWithList = (longer: SentList, { items }: SentList): boolean =>
  longer.items.length >= items.length &&
  longer.items.compare(items, 0, items.length, 0, items.length) === 0;

/** Finds the content of a trace that the server already has. */
type FindTraceContent = (traceId: string) => TraceContent | undefined;

/** The content that the server will have after it accepts the request that is being written. */
export class ContentDraft {
  readonly #traces = new Map<string, TraceDraft>();
  readonly #traceIdsByRun = new Map<string, string>();
  readonly #findSentContent: FindTraceContent;
  readonly #deduplication: ContentDeduplication;

  constructor(find: FindTraceContent, deduplication: ContentDeduplication) {
    this.#findSentContent = find;
    this.#deduplication = deduplication;
  }

  /** Returns the content of a trace that the server has; `undefined` if the trace must be sent in full. */
  findTrace(traceId: string, runId: string): TraceDraft | undefined {
    const existingDraft = this.#traces.get(traceId);
    const sentContent = this.#findSentContent(traceId);
    if (existingDraft === undefined && (sentContent?.misses ?? 0) >= maxMisses) {
      return undefined;
    }
    const draft = existingDraft ?? new TraceDraft(sentContent);
    this.#traces.set(traceId, draft);
    this.#traceIdsByRun.set(runId, traceId);
    return draft;
  }

  /** Records that the server accepted the request except for the `refused` runs. */
  recordResponse(refused: readonly { readonly id: string }[]): void {
    for (const { id } of refused) {
      const traceId = this.#traceIdsByRun.get(id) ?? "";
      if (this.#traces.delete(traceId)) {
        this.#deduplication.forget(traceId);
      }
    }
    this.#deduplication.rememberSent(this.#traces);
  }
}

/** The content that the server has of one trace, and the content that the current request adds. */
export class TraceDraft {
  readonly digests = new Set<string>();
  readonly addedLists: SentList[] = [];
  readonly #sentContent: TraceContent | undefined;

  constructor(sentContent: TraceContent | undefined) {
    this.#sentContent = sentContent;
  }

  has(digest: string): boolean {
    return this.#sentContent?.digests.has(digest) === true || this.digests.has(digest);
  }

  /** Finds the longest sent list that is a prefix of the items at `start` of `tape`, the buffer of recorded runs. */
  findLongestPrefix(tape: Buffer, start: number): SentList | undefined {
    let longest: SentList | undefined;
    for (const lists of [this.addedLists, this.#sentContent?.lists ?? []]) {
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

  /**
   * Adds a list that was written. The items are copied: if the tape is abandoned before the server
   * responds, its memory is reused.
   */
  addList(items: Buffer, digest: string): void {
    const list = { items: Buffer.from(items), digest };
    const shorterIndex = this.addedLists.findIndex((other) => beginsWithList(list, other));
    if (shorterIndex !== -1) {
      this.addedLists.splice(shorterIndex, 1);
    }
    this.addedLists.push(list);
    if (this.addedLists.length > listsPerTrace) {
      this.addedLists.shift();
    }
  }
}
