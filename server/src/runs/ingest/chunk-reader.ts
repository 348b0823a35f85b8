import {
  digestBytes,
  isUuid,
  minRememberedBytes,
  listDigest,
  emptyListDigest,
  chunkCode,
  chunksType,
  textDigest,
} from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { ChunkError } from "./content-cache.ts";
import type { ContentCache, ReceivedList, TraceContent } from "./content-cache.ts";
import type { Part } from "../../bodies/multipart-parser.ts";
import {
  maxBeginnings,
  minSharedBytes,
  selectShareable,
  toHash,
} from "../shared-texts/shareable-text.ts";
import type { ShareableText } from "../shared-texts/shareable-text.ts";

/** A part whose chunks were joined, with the texts in it that other runs may contain, too. */
export interface JoinedPart extends Part {
  readonly shareable?: readonly ShareableText[];
}

/** The cache of received content, and the tenant to whose content a request may refer. */
export interface TenantContent {
  readonly content: ContentCache;
  readonly tenantId: string;
}

/**
 * Bytes that are added to the size of each list item when the limit is checked, because joining many small items
 * takes time, too.
 */
const itemCostBytes = 64;
const comma = Buffer.from(",");
const openBracket = Buffer.from("[");

/**
 * Joins the chunks of those fields of one request that were sent in chunks (see
 * `model/options/content-deduplication`). One size limit applies to all of these fields together.
 */
export class ChunkReader {
  readonly #source: TenantContent | undefined;
  /** How many more bytes may be joined for the fields of this request. */
  #remainingBytes: number = serverLimits.bodyBytesMax;

  constructor(source: TenantContent | undefined) {
    this.#source = source;
  }

  /**
   * Returns the part with its chunks joined, or with a fault if they can't be joined. A part that was not sent in
   * chunks is returned unchanged. `findTraceId` returns the trace id that the run contains.
   *
   * @throws RequestError 413: the joined fields of this request exceed the body size limit.
   */
  joinPart(part: Part, findTraceId: () => unknown): JoinedPart {
    if (!part.contentType.startsWith(chunksType) || part.fault !== undefined) {
      return part;
    }
    try {
      return { ...part, ...this.#join(part.bytes, parseTraceId(findTraceId())) };
    } catch (cause) {
      if (cause instanceof ChunkError) {
        return { ...part, fault: cause.message };
      }
      throw cause;
    }
  }

  #join(chunks: Buffer, traceId: string): Pick<JoinedPart, "bytes" | "shareable"> {
    if (this.#source === undefined) {
      throw new ChunkError("is sent in chunks, which this endpoint does not accept");
    }
    const { content, tenantId } = this.#source;
    return content.withContent(tenantId, traceId, (traceContent) => {
      const joiner = new ChunkJoiner(chunks, traceContent, this.#remainingBytes);
      const bytes = joiner.join();
      this.#remainingBytes = joiner.remainingBytes;
      return { bytes, shareable: selectShareable(joiner.shareable, bytes) };
    });
  }
}

function parseTraceId(traceId: unknown): string {
  if (!isUuid(traceId)) {
    throw new ChunkError("is sent in chunks, but no earlier part has the run's trace_id");
  }
  return traceId.toLowerCase();
}

/** Joins the chunks of one field into its JSON. */
class ChunkJoiner {
  remainingBytes: number;
  /** The texts of the joined field that other runs may contain, too. */
  readonly shareable: ShareableText[] = [];
  readonly #chunks: Buffer;
  readonly #content: TraceContent;
  readonly #output: Buffer[] = [];
  #offset = 0;
  #outputBytes = 0;

  constructor(chunks: Buffer, content: TraceContent, remainingBytes: number) {
    this.#chunks = chunks;
    this.#content = content;
    this.remainingBytes = remainingBytes;
  }

  join(): Buffer {
    while (this.#offset < this.#chunks.length) {
      const code = this.#chunks[this.#offset++];
      switch (code) {
        case chunkCode.text:
          this.#append(this.#readText());
          break;
        case chunkCode.remembered: {
          const text = this.#readText();
          const digest = textDigest(text);
          this.#content.addText(digest, text);
          this.#appendShareable(text, digest, false);
          break;
        }
        case chunkCode.reference: {
          const digest = this.#readDigest();
          this.#appendShareable(this.#findText(digest), digest, true);
          break;
        }
        case chunkCode.list:
          this.#readList(this.#readDigest());
          break;
        default:
          throw new ChunkError(`has an unknown chunk code at byte ${this.#offset - 1}`);
      }
    }
    return Buffer.concat(this.#output);
  }

  /** Reads a list, which is sent as a reference to a list that was received before, followed by new items. */
  #readList(baseDigest: string): void {
    let digest = baseDigest;
    let list = baseDigest === emptyListDigest ? undefined : this.#content.lists.get(baseDigest);
    if (list === undefined && baseDigest !== emptyListDigest) {
      throw createMissingContentError();
    }
    const start = this.#outputBytes;
    this.#appendList(list);
    // The beginnings of the list that the client referred to or extended, each with its digest and its end.
    const beginnings = list === undefined ? [] : [{ digest, end: this.#outputBytes }];
    for (;;) {
      const code = this.#chunks[this.#offset];
      if (code !== chunkCode.item && code !== chunkCode.itemReference) {
        this.#addShareableList(start, beginnings, baseDigest !== emptyListDigest);
        return;
      }
      this.#offset += 1;
      const isNew = code === chunkCode.item;
      const knownDigest = isNew ? undefined : this.#readDigest();
      const text = knownDigest === undefined ? this.#readText() : this.#findText(knownDigest);
      const itemDigest = knownDigest ?? textDigest(text);
      if (isNew && text.length >= minRememberedBytes) {
        this.#content.addText(itemDigest, text);
      }
      if (list !== undefined) {
        this.#append(comma);
      }
      this.#append(text);
      digest = listDigest(digest, itemDigest);
      list = this.#content.lists.get(digest) ?? {
        previousItems: list,
        item: this.#content.findOrCopy(itemDigest, text),
        count: (list?.count ?? 0) + 1,
        sizeBytes: (list?.sizeBytes ?? 0) + 1 + text.length,
      };
      this.#content.addList(digest, list);
      beginnings.push({ digest, end: this.#outputBytes });
    }
  }

  #addShareableList(
    start: number,
    beginnings: readonly { readonly digest: string; readonly end: number }[],
    isRepeated: boolean,
  ): void {
    const end = this.#outputBytes;
    if (end - start >= minSharedBytes) {
      const searched = beginnings.slice(-maxBeginnings);
      this.shareable.push({
        start,
        end,
        hashes: searched.map(({ digest }) => toHash("list", digest)),
        ends: searched.map((beginning) => beginning.end),
        isRepeated,
      });
    }
  }

  #appendShareable(text: Buffer, digest: string, isRepeated: boolean): void {
    const start = this.#outputBytes;
    this.#append(text);
    if (text.length >= minSharedBytes) {
      const end = this.#outputBytes;
      this.shareable.push({
        start,
        end,
        hashes: [toHash("text", digest)],
        ends: [end],
        isRepeated,
      });
    }
  }

  #appendList(last: ReceivedList | undefined): void {
    if (last === undefined) {
      this.#append(openBracket);
      return;
    }
    // Check the size before collecting the items: a reference of a few bytes may stand for a long list.
    this.#countBytes(last.sizeBytes + last.count * itemCostBytes);
    const items: Buffer[] = [];
    for (let list: ReceivedList | undefined = last; list !== undefined; list = list.previousItems) {
      items.push(list.item, list.previousItems === undefined ? openBracket : comma);
    }
    this.#outputBytes += last.sizeBytes;
    for (let index = items.length - 1; index >= 0; index--) {
      this.#output.push(items[index] ?? comma);
    }
  }

  #append(text: Buffer): void {
    this.#countBytes(text.length);
    this.#outputBytes += text.length;
    this.#output.push(text);
  }

  #countBytes(bytes: number): void {
    this.remainingBytes -= bytes;
    if (this.remainingBytes < 0) {
      const limit = `${serverLimits.bodyBytesMax} bytes`;
      throw new RequestError(413, `the fields sent in chunks exceed ${limit} in total when joined`);
    }
  }

  #findText(digest: string): Buffer {
    const text = this.#content.texts.get(digest);
    if (text === undefined) {
      throw createMissingContentError();
    }
    return text;
  }

  #readText(): Buffer {
    const start = this.#offset + 4;
    const end =
      start <= this.#chunks.length ? start + this.#chunks.readUInt32LE(this.#offset) : start;
    return this.#readSlice(start, end);
  }

  #readDigest(): string {
    return this.#readSlice(this.#offset, this.#offset + digestBytes).toString("latin1");
  }

  #readSlice(start: number, end: number): Buffer {
    if (end > this.#chunks.length) {
      throw new ChunkError("ends within a chunk");
    }
    this.#offset = end;
    return this.#chunks.subarray(start, end);
  }
}

const createMissingContentError = (): ChunkError =>
  new ChunkError(
    "refers to content that this server does not have for the trace; send it without chunks",
  );
