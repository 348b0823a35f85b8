import {
  digestBytes,
  isUuid,
  keptFromBytes,
  listDigest,
  noItems,
  chunkCode,
  chunksType,
  textDigest,
} from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { PieceFault } from "./content-memory.ts";
import type { ContentMemory, KnownList, TraceContent } from "./content-memory.ts";
import type { Part } from "../../bodies/multipart-parser.ts";

/** Whose content may be referred to. */
export interface TenantContent {
  readonly content: ContentMemory;
  readonly tenantId: string;
}

/** What an item of a list costs to join beside its bytes: many small ones are work, too. */
const itemCost = 64;
const comma = Buffer.from(",");
const openBracket = Buffer.from("[");

/** Joins the fields of one request that came in pieces (`model/options/content-deduplication`), within a bound for all of them. */
export class PieceReader {
  readonly #known: TenantContent | undefined;
  /** Bytes that the pieces of this request may still become. */
  #roomBytes: number = serverLimits.bodyBytesMax;

  constructor(known: TenantContent | undefined) {
    this.#known = known;
  }

  /**
   * A part as if it had come whole; with a fault where that can't be. `traceId` is what the run names as its.
   *
   * @throws RequestError 413: all fields together become more than one body may be.
   */
  joined(part: Part, traceId: () => unknown): Part {
    if (!part.contentType.startsWith(chunksType) || part.fault !== undefined) {
      return part;
    }
    try {
      return { ...part, bytes: this.#join(part.bytes, traceOf(traceId())) };
    } catch (cause) {
      if (cause instanceof PieceFault) {
        return { ...part, fault: cause.message };
      }
      throw cause;
    }
  }

  #join(pieces: Buffer, traceId: string): Buffer {
    if (this.#known === undefined) {
      throw new PieceFault("is in pieces, which are not taken here");
    }
    const { content, tenantId } = this.#known;
    return content.use(tenantId, traceId, (known) => {
      const joiner = new Joiner(pieces, known, this.#roomBytes);
      const json = joiner.join();
      this.#roomBytes = joiner.roomBytes;
      return json;
    });
  }
}

function traceOf(traceId: unknown): string {
  if (!isUuid(traceId)) {
    throw new PieceFault("is in pieces, and no part before it names the run's trace");
  }
  return traceId.toLowerCase();
}

/** One field's pieces become its JSON. */
class Joiner {
  roomBytes: number;
  readonly #pieces: Buffer;
  readonly #known: TraceContent;
  readonly #texts: Buffer[] = [];
  #at = 0;

  constructor(pieces: Buffer, known: TraceContent, roomBytes: number) {
    this.#pieces = pieces;
    this.#known = known;
    this.roomBytes = roomBytes;
  }

  join(): Buffer {
    while (this.#at < this.#pieces.length) {
      const code = this.#pieces[this.#at++];
      switch (code) {
        case chunkCode.text:
          this.#add(this.#text());
          break;
        case chunkCode.kept: {
          const text = this.#text();
          this.#known.addText(textDigest(text), text);
          this.#add(text);
          break;
        }
        case chunkCode.same:
          this.#add(this.#named(this.#digest()));
          break;
        case chunkCode.list:
          this.#list(this.#digest());
          break;
        default:
          throw new PieceFault(`has no piece that begins as byte ${this.#at - 1} says`);
      }
    }
    return Buffer.concat(this.#texts);
  }

  /** A list that is known, and the items that it has more. */
  #list(first: string): void {
    let digest = first;
    let list = first === noItems ? undefined : this.#known.lists.get(first);
    if (list === undefined && first !== noItems) {
      throw forgotten();
    }
    this.#addList(list);
    for (;;) {
      const code = this.#pieces[this.#at];
      if (code !== chunkCode.item && code !== chunkCode.sameItem) {
        return;
      }
      this.#at += 1;
      const isNew = code === chunkCode.item;
      const name = isNew ? undefined : this.#digest();
      const text = name === undefined ? this.#text() : this.#named(name);
      const itemDigest = name ?? textDigest(text);
      if (isNew && text.length >= keptFromBytes) {
        this.#known.addText(itemDigest, text);
      }
      if (list !== undefined) {
        this.#add(comma);
      }
      this.#add(text);
      digest = listDigest(digest, itemDigest);
      list = this.#known.lists.get(digest) ?? {
        before: list,
        item: this.#known.keep(itemDigest, text),
        count: (list?.count ?? 0) + 1,
        sizeBytes: (list?.sizeBytes ?? 0) + 1 + text.length,
      };
      this.#known.addList(digest, list);
    }
  }

  #addList(last: KnownList | undefined): void {
    if (last === undefined) {
      this.#add(openBracket);
      return;
    }
    // Before it is made: a few bytes may name much.
    this.#take(last.sizeBytes + last.count * itemCost);
    const items: Buffer[] = [];
    for (let list: KnownList | undefined = last; list !== undefined; list = list.before) {
      items.push(list.item, list.before === undefined ? openBracket : comma);
    }
    for (let index = items.length - 1; index >= 0; index--) {
      this.#texts.push(items[index] ?? comma);
    }
  }

  #add(text: Buffer): void {
    this.#take(text.length);
    this.#texts.push(text);
  }

  #take(bytes: number): void {
    this.roomBytes -= bytes;
    if (this.roomBytes < 0) {
      const most = `${serverLimits.bodyBytesMax} bytes`;
      throw new RequestError(413, `the fields that came in pieces are more than ${most} in all`);
    }
  }

  #named(digest: string): Buffer {
    const text = this.#known.texts.get(digest);
    if (text === undefined) {
      throw forgotten();
    }
    return text;
  }

  #text(): Buffer {
    const start = this.#at + 4;
    const end = start <= this.#pieces.length ? start + this.#pieces.readUInt32LE(this.#at) : start;
    return this.#slice(start, end);
  }

  #digest(): string {
    return this.#slice(this.#at, this.#at + digestBytes).toString("latin1");
  }

  #slice(start: number, end: number): Buffer {
    if (end > this.#pieces.length) {
      throw new PieceFault("ends within a piece");
    }
    this.#at = end;
    return this.#pieces.subarray(start, end);
  }
}

const forgotten = (): PieceFault =>
  new PieceFault("refers to content that this server does not have of the trace; send it as it is");
