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
 * Maximum bytes of an object that is written as one chunk. A larger object, or one that contains an array or binary
 * data, is divided into its members.
 */
const wholeObjectBytes = 4_096;
/** If the items of an array have at least this size on average, each item becomes a chunk. */
const minItemBytes = 64;
/** Bytes before the text of a chunk: its code and its length. */
const chunkHeadBytes = 5;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Writes a payload field as a sequence of chunks, whose format `model/options/content-deduplication.ts` describes. If
 * the server already has a part of the trace's content, a digest replaces this part. Used only in workers, because it
 * computes a hash of every text that is long enough to be referenced.
 */
export class ChunkWriter {
  readonly #out: JsonWriter;
  readonly #draft: ContentDraft;

  constructor(out: JsonWriter, draft: ContentDraft) {
    this.#out = out;
    this.#draft = draft;
  }

  /**
   * Returns the content of the run's trace that the server already has; `undefined` if the run's fields must be sent in
   * full.
   */
  findTrace(json: RunJson, run: RunOperation): TraceDraft | undefined {
    return this.#draft.findTrace(readTraceId(json.reader, run), run.id);
  }

  // oxlint-disable-next-line max-params -- called for each field of each run
  writePayload(json: RunJson, run: RunOperation, name: PayloadField, trace: TraceDraft): void {
    const start = findPayloadStart(json.reader, run, name);
    if (start === undefined) {
      writeRememberedText(this.#out, trace, () => json.writePayload(this.#out, run, name));
    } else {
      new PayloadChunks(this.#out, trace, json.reader).writePayload(start);
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
  const digest = textDigest(out.bytes.subarray(start + chunkHeadBytes, out.length));
  if (trace.has(digest)) {
    replaceWithReference(out, { start, code: chunkCode.reference, digest });
  } else {
    endChunk(out, start);
    trace.digests.add(digest);
  }
}

/** Begins a chunk. Its text is written next, and then {@link endChunk} is called. */
function beginChunk(out: JsonWriter, code: number): void {
  out.ensureCapacity(chunkHeadBytes);
  out.bytes[out.length] = code;
  out.length += chunkHeadBytes;
}

/** Ends the chunk that began at `start`, by writing the length of its text. */
function endChunk(out: JsonWriter, start: number): void {
  out.bytes.writeUInt32LE(out.length - start - chunkHeadBytes, start + 1);
}

/** A reference that replaces a chunk: the chunk's start in the output, and the code and digest to write. */
interface Reference {
  readonly start: number;
  readonly code: number;
  readonly digest: string;
}

/** Replaces everything written since `start` by a digest. */
function replaceWithReference(out: JsonWriter, { start, code, digest }: Reference): void {
  out.length = start;
  out.writeByte(code);
  out.writeAscii(digest);
}

class PayloadChunks {
  readonly #out: JsonWriter;
  readonly #trace: TraceDraft;
  readonly #tape: Buffer;
  readonly #view: DataView;
  readonly #scan: TapeScan;
  /**
   * Position in the output where the current chunk of plain text begins, which is text that the server does not
   * remember; -1 outside of such a chunk.
   */
  #plainTextStart = -1;

  constructor(out: JsonWriter, trace: TraceDraft, { bytes, view }: TapeReader) {
    this.#out = out;
    this.#trace = trace;
    this.#tape = bytes;
    this.#view = view;
    this.#scan = new TapeScan(bytes, view);
  }

  writePayload(offset: number): void {
    if (this.#tape[offset] === tag.object) {
      this.#writeMembers(offset);
    } else {
      this.#writeValue(offset);
    }
    this.#closePlainText();
  }

  /**
   * Writes the chunks of one value. Returns the offset of the next value, as do all methods below that return a number.
   */
  #writeValue(offset: number): number {
    const tagByte = this.#tape[offset];
    switch (tagByte) {
      case tag.object:
        return this.#writeObject(offset);
      case tag.array:
        return this.#writeArray(offset);
      case tag.text:
      case tag.wideText:
        return this.#view.getUint32(offset + 1, true) >= minRememberedBytes
          ? this.#writeRemembered(offset)
          : this.#writePlainText(offset);
      default:
        return this.#writePlainText(offset);
    }
  }

  /**
   * Writes an object. An object of moderate size without an array is likely to appear again unchanged, so it is
   * remembered as a whole.
   */
  #writeObject(offset: number): number {
    const tapeScan = this.#scan;
    tapeScan.hasSeenBytes = false;
    tapeScan.hasSeenArray = false;
    const size = tapeScan.skipValue(offset) - offset;
    if (size < minRememberedBytes) {
      return this.#writePlainText(offset);
    }
    return size > wholeObjectBytes || tapeScan.hasSeenArray || tapeScan.hasSeenBytes
      ? this.#writeMembers(offset)
      : this.#writeRemembered(offset);
  }

  #writeMembers(start: number): number {
    let offset = start + 1;
    this.#writePunctuation(0x7b);
    while (this.#tape[offset] !== tag.end) {
      if (offset !== start + 1) {
        this.#writePunctuation(comma);
      }
      this.#openPlainText();
      offset = this.#out.writeValue(this.#tape, this.#view, offset);
      this.#writePunctuation(colon);
      offset = this.#writeValue(offset);
    }
    this.#writePunctuation(0x7d);
    return offset + 1;
  }

  #writeArray(offset: number): number {
    const start = offset + 1;
    const knownList = this.#trace.findLongestPrefix(this.#tape, start);
    if (knownList !== undefined) {
      return this.#writeList(start, knownList);
    }
    if (this.#tape[start] === tag.array) {
      return this.#writeElements(start);
    }
    const tapeScan = this.#scan;
    tapeScan.hasSeenBytes = false;
    let end = start;
    let count = 0;
    for (; this.#tape[end] !== tag.end; count++) {
      end = tapeScan.skipValue(end);
    }
    if (end - start < minRememberedBytes) {
      return this.#writePlainText(offset);
    }
    if ((end - start) / count >= minItemBytes) {
      return this.#writeList(start, undefined);
    }
    return tapeScan.hasSeenBytes ? this.#writePlainText(offset) : this.#writeRemembered(offset);
  }

  /** Writes an array of arrays. Each inner array may be a list that the server has. */
  #writeElements(start: number): number {
    let offset = start;
    this.#writePunctuation(0x5b);
    while (this.#tape[offset] !== tag.end) {
      if (offset !== start) {
        this.#writePunctuation(comma);
      }
      offset = this.#writeValue(offset);
    }
    this.#writePunctuation(0x5d);
    return offset + 1;
  }

  /**
   * Writes a list. Binary data becomes attachments of one run, so other runs can't refer to it. Therefore only the
   * items that precede the first item with binary data are written as a list that other runs can refer to. That item
   * and all later ones are written as plain text.
   */
  #writeList(start: number, knownList: SentList | undefined): number {
    this.#closePlainText();
    const listStart = this.#out.length;
    let offset = start + (knownList?.items.length ?? 0);
    let digest = knownList?.digest ?? emptyListDigest;
    replaceWithReference(this.#out, { start: listStart, code: chunkCode.list, digest });
    this.#scan.hasSeenBytes = false;
    while (this.#tape[offset] !== tag.end) {
      const end = this.#scan.skipValue(offset);
      if (this.#scan.hasSeenBytes) {
        break;
      }
      digest = listDigest(digest, this.#writeItem(offset));
      if (this.#trace.has(digest)) {
        replaceWithReference(this.#out, { start: listStart, code: chunkCode.list, digest });
      }
      this.#trace.digests.add(digest);
      offset = end;
    }
    if (offset - start >= minRememberedBytes) {
      this.#trace.addList(this.#tape.subarray(start, offset), digest);
    }
    for (let isFirst = offset === start; this.#tape[offset] !== tag.end; isFirst = false) {
      if (!isFirst) {
        this.#writePunctuation(comma);
      }
      offset = this.#writePlainText(offset);
    }
    this.#writePunctuation(0x5d);
    return offset + 1;
  }

  /** Writes one item of a list and returns its digest. */
  #writeItem(offset: number): string {
    const out = this.#out;
    const start = out.length;
    beginChunk(out, chunkCode.item);
    out.writeValue(this.#tape, this.#view, offset);
    const size = out.length - start - chunkHeadBytes;
    const digest = textDigest(out.bytes.subarray(start + chunkHeadBytes, out.length));
    if (size >= minRememberedBytes && this.#trace.has(digest)) {
      replaceWithReference(out, { start, code: chunkCode.itemReference, digest });
      return digest;
    }
    endChunk(out, start);
    if (size >= minRememberedBytes) {
      this.#trace.digests.add(digest);
    }
    return digest;
  }

  #writeRemembered(offset: number): number {
    this.#closePlainText();
    writeRememberedText(
      this.#out,
      this.#trace,
      () => void this.#out.writeValue(this.#tape, this.#view, offset),
    );
    return this.#scan.skipValue(offset);
  }

  #writePlainText(offset: number): number {
    this.#openPlainText();
    return this.#out.writeValue(this.#tape, this.#view, offset);
  }

  #writePunctuation(byte: number): void {
    this.#openPlainText();
    this.#out.writeByte(byte);
  }

  #openPlainText(): void {
    if (this.#plainTextStart === -1) {
      this.#plainTextStart = this.#out.length;
      beginChunk(this.#out, chunkCode.text);
    }
  }

  #closePlainText(): void {
    if (this.#plainTextStart !== -1) {
      endChunk(this.#out, this.#plainTextStart);
      this.#plainTextStart = -1;
    }
  }
}
