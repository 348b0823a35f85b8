import { serverLimits } from "../../model/options.ts";

/** A list that was received, as its last item and the list before it. */
export interface KnownList {
  readonly before: KnownList | undefined;
  readonly item: Buffer;
  readonly count: number;
  /** Of the list's JSON, without its last bracket. */
  readonly sizeBytes: number;
}

/** Why the pieces of a field can't be joined. */
export class PieceFault extends Error {}

/** What a text or a list costs beside its bytes, about. */
const entryBytes = 200;

/** The content of one trace that was received, by digest. */
export class TraceContent {
  readonly texts = new Map<string, Buffer>();
  readonly lists = new Map<string, KnownList>();
  bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Remembers a text. A copy: what it lies in is the body of a request. */
  addText(digest: string, text: Buffer): void {
    if (!this.texts.has(digest)) {
      this.texts.set(digest, this.#copied(text));
    }
  }

  addList(digest: string, list: KnownList): void {
    if (!this.lists.has(digest)) {
      this.#grow(entryBytes);
      this.lists.set(digest, list);
    }
  }

  /** An item's bytes to keep: those of a text that is remembered, or a copy. */
  keep(digest: string, item: Buffer): Buffer {
    return this.texts.get(digest) ?? this.#copied(item);
  }

  #copied(text: Buffer): Buffer {
    this.#grow(text.length + entryBytes);
    const copy = Buffer.allocUnsafeSlow(text.length);
    text.copy(copy);
    return copy;
  }

  #grow(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.#bytesMax) {
      throw new PieceFault("has more content than is remembered of one trace; send it as it is");
    }
  }
}

export interface ContentLimits {
  readonly traceBytes: number;
  readonly allBytes: number;
}

const usualLimits: ContentLimits = {
  traceBytes: serverLimits.contentOfTraceBytes,
  allBytes: serverLimits.contentBytes,
};

/**
 * Recently received content, so that clients need not send it again within its trace. It is only a cache in memory: runs are
 * stored whole, and a client that refers to dropped content receives an error and sends it again.
 */
export class ContentMemory {
  /** By tenant and trace, in the order of their last use. */
  readonly #traces = new Map<string, TraceContent>();
  readonly #limits: ContentLimits;
  #bytes = 0;

  constructor(limits: ContentLimits = usualLimits) {
    this.#limits = limits;
  }

  /** Calls `use` with the content of a trace, and then forgets what is more than may be kept. */
  use<Result>(tenantId: string, traceId: string, use: (content: TraceContent) => Result): Result {
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
      this.#forget();
    }
  }

  #forget(): void {
    for (const [key, { bytes }] of this.#traces) {
      if (this.#bytes <= this.#limits.allBytes) {
        return;
      }
      this.#traces.delete(key);
      this.#bytes -= bytes;
    }
  }
}
