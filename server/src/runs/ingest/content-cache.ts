import { serverLimits } from "../../model/options.ts";

/**
 * A list that was received, stored as its last item and a reference to the list before that item. Lists with a common
 * beginning therefore share it in memory.
 */
export interface ReceivedList {
  readonly previousItems: ReceivedList | undefined;
  readonly item: Buffer;
  readonly count: number;
  /** Bytes of the list's JSON, without the closing bracket. */
  readonly sizeBytes: number;
}

/** Thrown if the chunks of a field can't be joined. The message continues a sentence that begins with the part name. */
export class ChunkError extends Error {}

/** Approximate memory of a text or a list in addition to its bytes. */
const entryBytes = 200;

/** The texts and lists that were received for one trace. The key of a text or a list is its digest. */
export class TraceContent {
  readonly texts = new Map<string, Buffer>();
  readonly lists = new Map<string, ReceivedList>();
  bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Stores a copy of a text, because the buffer is a slice of a request body. */
  addText(digest: string, text: Buffer): void {
    if (!this.texts.has(digest)) {
      this.texts.set(digest, this.#copy(text));
    }
  }

  addList(digest: string, list: ReceivedList): void {
    if (!this.lists.has(digest)) {
      this.#grow(entryBytes);
      this.lists.set(digest, list);
    }
  }

  /** Returns an item in a buffer that can be retained: the stored text with this digest, or else a copy of the item. */
  findOrCopy(digest: string, item: Buffer): Buffer {
    return this.texts.get(digest) ?? this.#copy(item);
  }

  #copy(text: Buffer): Buffer {
    this.#grow(text.length + entryBytes);
    const copy = Buffer.allocUnsafeSlow(text.length);
    text.copy(copy);
    return copy;
  }

  #grow(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.#bytesMax) {
      throw new ChunkError(
        "has more content than is remembered for one trace; send it without chunks",
      );
    }
  }
}

export interface ContentLimits {
  readonly traceBytes: number;
  readonly allBytes: number;
}

const defaultLimits: ContentLimits = {
  traceBytes: serverLimits.contentOfTraceBytes,
  allBytes: serverLimits.contentBytes,
};

/**
 * Caches content that was received recently, so that clients need not send it again within its trace. Nothing is lost
 * if content is evicted: a client that refers to it receives an error and sends the content again. The store does not
 * depend on the cache.
 */
export class ContentCache {
  /** Content by tenant and trace, the least recently used first. */
  readonly #traces = new Map<string, TraceContent>();
  readonly #limits: ContentLimits;
  #bytes = 0;

  constructor(limits: ContentLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** Calls `use` with the content of a trace, and then evicts the content that exceeds the limits. */
  withContent<Result>(
    tenantId: string,
    traceId: string,
    use: (content: TraceContent) => Result,
  ): Result {
    const key = `${tenantId} ${traceId}`;
    const content = this.#traces.get(key) ?? new TraceContent(this.#limits.traceBytes);
    this.#traces.delete(key);
    this.#bytes -= content.bytes;
    try {
      return use(content);
    } finally {
      if (content.bytes <= this.#limits.traceBytes) {
        this.#traces.set(key, content);
        this.#bytes += content.bytes;
      }
      this.#evict();
    }
  }

  #evict(): void {
    for (const [key, { bytes }] of this.#traces) {
      if (this.#bytes <= this.#limits.allBytes) {
        return;
      }
      this.#traces.delete(key);
      this.#bytes -= bytes;
    }
  }
}
