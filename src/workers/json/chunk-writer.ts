import type { PayloadField } from "../../model/run.ts";
import {
  minRememberedBytes,
  listDigest,
  emptyListDigest,
  chunkCode,
  textDigest,
} from "../../model/options/content-deduplication.ts";
import { tag } from "../../model/records/tape-format.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { ContentDraft, SentList, TraceDraft } from "./content-deduplication.ts";
import type { RunOperation } from "./operations.ts";
import { findPayloadStart, readTraceId } from "./payload-position.ts";
import type { RunJson } from "./run-json.ts";
import type { TapeReader } from "./tape-reader.ts";
import { TapeScan } from "./tape-scan.ts";

/**
 * An object of up to this size is written as one chunk. A larger one is divided into its members.
 */
const wholeObjectBytes = 4_096;
/** If the items of an array have at least this size on average, each item becomes a chunk. */
const itemBytes = 64;
/** Bytes before the text of a chunk: its code and its length. */
const headBytes = 5;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Writes a payload field as chunks (`model/options/content-deduplication.ts`). Content of the trace
 * that the server already has is replaced by its digest. Used only in workers: it computes a hash
 * of every text that is long enough to be referenced.
 */
export class ChunkWriter {
  readonly #out: JsonWriter;
  readonly #draft: ContentDraft;

  constructor(out: JsonWriter, draft: ContentDraft) {
    this.#out = out;
    this.#draft = draft;
  }

  /**
   * Returns what the server has of the run's trace; `undefined` if the run's fields must be sent in
   * full.
   */
  findTrace(json: RunJson, run: RunOperation): TraceDraft | undefined {
    return this.#draft.findTrace(readTraceId(json.reader, run), run.id);
  }

  // oxlint-disable-next-line max-params -- called for each field of each run
  writePayload(json: RunJson, run: RunOperation, name: PayloadField, trace: TraceDraft): void {
    const start = findPayloadStart(json.reader, run, name);
    if (start === undefined) {
      writeRememberedText(this.#out, trace, () => json.payload(this.#out, run, name));
    } else {
      new ValueChunks(this.#out, trace, json.reader).writePayload(start);
    }
  }
}

/**
 * Writes one text that the server will remember, or only its digest if the server already has it.
 */
function writeRememberedText(out: JsonWriter, trace: TraceDraft, write: () => void): void {
  const start = out.length;
  beginChunk(out, chunkCode.remembered);
  write();
  const digest = textDigest(out.bytes.subarray(start + headBytes, out.length));
  if (trace.has(digest)) {
    replaceWithReference(out, { start, code: chunkCode.reference, digest });
  } else {
    finishChunk(out, start);
    trace.digests.add(digest);
  }
}

/** Begins a chunk whose text follows. */
function beginChunk(out: JsonWriter, code: number): void {
  out.ensureCapacity(headBytes);
  out.bytes[out.length] = code;
  out.length += headBytes;
}

/** Finishes the chunk that began at `start`. */
function finishChunk(out: JsonWriter, start: number): void {
  out.bytes.writeUInt32LE(out.length - start - headBytes, start + 1);
}

interface Reference {
  readonly start: number;
  readonly code: number;
  readonly digest: string;
}

/** Replaces everything written since `start` by a digest. */
function replaceWithReference(out: JsonWriter, { start, code, digest }: Reference): void {
  out.length = start;
  out.byte(code);
  out.ascii(digest);
}

/** Writes the chunks of one payload. */
class ValueChunks {
  readonly #out: JsonWriter;
  readonly #trace: TraceDraft;
  readonly #tape: Buffer;
  readonly #view: DataView;
  readonly #scan: TapeScan;
  /**
   * Where the open chunk of plain text begins: text that the server does not remember. -1 if none
   * is open.
   */
  #plainTextStart = -1;

  constructor(out: JsonWriter, trace: TraceDraft, { bytes, view }: TapeReader) {
    this.#out = out;
    this.#trace = trace;
    this.#tape = bytes;
    this.#view = view;
    this.#scan = new TapeScan(bytes, view);
  }

  writePayload(at: number): void {
    if (this.#tape[at] === tag.object) {
      this.#writeMembers(at);
    } else {
      this.#writeValue(at);
    }
    this.#closePlainText();
  }

  /** Returns the offset of the next value, as do all methods below. */
  #writeValue(at: number): number {
    const tagByte = this.#tape[at];
    switch (tagByte) {
      case tag.object:
        return this.#writeObject(at);
      case tag.array:
        return this.#writeArray(at);
      case tag.text:
      case tag.wideText:
        return this.#view.getUint32(at + 1, true) >= minRememberedBytes
          ? this.#writeRemembered(at)
          : this.#writePlainText(at);
      default:
        return this.#writePlainText(at);
    }
  }

  /**
   * Writes an object. An object of moderate size without an array is likely to appear again unchanged, so it is
   * remembered as a whole.
   */
  #writeObject(at: number): number {
    const scan = this.#scan;
    scan.sawBytes = false;
    scan.sawArray = false;
    const size = scan.skipValue(at) - at;
    if (size < minRememberedBytes) {
      return this.#writePlainText(at);
    }
    return size > wholeObjectBytes || scan.sawArray || scan.sawBytes
      ? this.#writeMembers(at)
      : this.#writeRemembered(at);
  }

  #writeMembers(start: number): number {
    let at = start + 1;
    this.#writePunctuation(0x7b);
    while (this.#tape[at] !== tag.end) {
      if (at !== start + 1) {
        this.#writePunctuation(comma);
      }
      this.#openPlainText();
      at = this.#out.value(this.#tape, this.#view, at);
      this.#writePunctuation(colon);
      at = this.#writeValue(at);
    }
    this.#writePunctuation(0x7d);
    return at + 1;
  }

  #writeArray(at: number): number {
    const start = at + 1;
    const knownList = this.#trace.findLongestPrefix(this.#tape, start);
    if (knownList !== undefined) {
      return this.#writeList(start, knownList);
    }
    if (this.#tape[start] === tag.array) {
      return this.#writeElements(start);
    }
    const scan = this.#scan;
    scan.sawBytes = false;
    let end = start;
    let count = 0;
    for (; this.#tape[end] !== tag.end; count++) {
      end = scan.skipValue(end);
    }
    if (end - start < minRememberedBytes) {
      return this.#writePlainText(at);
    }
    if ((end - start) / count >= itemBytes) {
      return this.#writeList(start, undefined);
    }
    return scan.sawBytes ? this.#writePlainText(at) : this.#writeRemembered(at);
  }

  /** Writes an array of arrays. Each inner array may be a list that the server has. */
  #writeElements(start: number): number {
    let at = start;
    this.#writePunctuation(0x5b);
    while (this.#tape[at] !== tag.end) {
      if (at !== start) {
        this.#writePunctuation(comma);
      }
      at = this.#writeValue(at);
    }
    this.#writePunctuation(0x5d);
    return at + 1;
  }

  /**
   * Writes the items up to the first one with binary data as a remembered list, and the rest as
   * plain text. Binary data becomes attachments of one run, so other runs can't refer to it.
   */
  #writeList(start: number, knownList: SentList | undefined): number {
    this.#closePlainText();
    const listAt = this.#out.length;
    let at = start + (knownList?.items.length ?? 0);
    let digest = knownList?.digest ?? emptyListDigest;
    replaceWithReference(this.#out, { start: listAt, code: chunkCode.list, digest });
    this.#scan.sawBytes = false;
    while (this.#tape[at] !== tag.end) {
      const end = this.#scan.skipValue(at);
      if (this.#scan.sawBytes) {
        break;
      }
      digest = listDigest(digest, this.#writeItem(at));
      if (this.#trace.has(digest)) {
        replaceWithReference(this.#out, { start: listAt, code: chunkCode.list, digest });
      }
      this.#trace.digests.add(digest);
      at = end;
    }
    if (at - start >= minRememberedBytes) {
      this.#trace.addList(this.#tape.subarray(start, at), digest);
    }
    for (let isFirst = at === start; this.#tape[at] !== tag.end; isFirst = false) {
      if (!isFirst) {
        this.#writePunctuation(comma);
      }
      at = this.#writePlainText(at);
    }
    this.#writePunctuation(0x5d);
    return at + 1;
  }

  /** Writes one item of a list and returns its digest. */
  #writeItem(at: number): string {
    const out = this.#out;
    const start = out.length;
    beginChunk(out, chunkCode.item);
    out.value(this.#tape, this.#view, at);
    const size = out.length - start - headBytes;
    const digest = textDigest(out.bytes.subarray(start + headBytes, out.length));
    if (size >= minRememberedBytes && this.#trace.has(digest)) {
      replaceWithReference(out, { start, code: chunkCode.itemReference, digest });
      return digest;
    }
    finishChunk(out, start);
    if (size >= minRememberedBytes) {
      this.#trace.digests.add(digest);
    }
    return digest;
  }

  #writeRemembered(at: number): number {
    this.#closePlainText();
    writeRememberedText(
      this.#out,
      this.#trace,
      () => void this.#out.value(this.#tape, this.#view, at),
    );
    return this.#scan.skipValue(at);
  }

  #writePlainText(at: number): number {
    this.#openPlainText();
    return this.#out.value(this.#tape, this.#view, at);
  }

  #writePunctuation(byte: number): void {
    this.#openPlainText();
    this.#out.byte(byte);
  }

  #openPlainText(): void {
    if (this.#plainTextStart === -1) {
      this.#plainTextStart = this.#out.length;
      beginChunk(this.#out, chunkCode.text);
    }
  }

  #closePlainText(): void {
    if (this.#plainTextStart !== -1) {
      finishChunk(this.#out, this.#plainTextStart);
      this.#plainTextStart = -1;
    }
  }
}
