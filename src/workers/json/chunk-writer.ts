import type { PayloadField } from "../../model/run.ts";
import {
  keptFromBytes,
  listDigest,
  noItems,
  chunkCode,
  textDigest,
} from "../../model/options/content-deduplication.ts";
import { tag } from "../../model/records/tape-format.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { ContentDraft, SentList, TraceDraft } from "./content-deduplication.ts";
import type { RunOperation } from "./operations.ts";
import { payloadStart, traceIdOf } from "./payload-position.ts";
import type { RunJson } from "./run-json.ts";
import type { TapeReader } from "./tape-reader.ts";
import { TapeScan } from "./tape-scan.ts";

/** An object is one text up to this size; of a larger one its members are. */
const wholeObjectBytes = 4_096;
/** Items are pieces of their own from this size on, on average. */
const itemBytes = 64;
/** A code and a length. */
const headBytes = 5;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Writes a payload field in pieces (`model/options/content-deduplication`): what the server holds of the trace is named.
 * A worker's work: it takes a hash of whatever is long enough to be named.
 */
export class ChunkWriter {
  readonly #out: JsonWriter;
  readonly #draft: ContentDraft;

  constructor(out: JsonWriter, draft: ContentDraft) {
    this.#out = out;
    this.#draft = draft;
  }

  /** What is known of a run's trace; `undefined` where its fields are to be sent as they are. */
  trace(json: RunJson, run: RunOperation): TraceDraft | undefined {
    return this.#draft.trace(traceIdOf(json.reader, run), run.id);
  }

  // oxlint-disable-next-line max-params -- called for each field of each run
  payload(json: RunJson, run: RunOperation, name: PayloadField, trace: TraceDraft): void {
    const start = payloadStart(json.reader, run, name);
    if (start === undefined) {
      whole(this.#out, trace, () => json.payload(this.#out, run, name));
    } else {
      new ValueChunks(this.#out, trace, json.reader).payload(start);
    }
  }
}

/** Writes one text that is remembered, or its digest where it is known already. */
function whole(out: JsonWriter, trace: TraceDraft, write: () => void): void {
  const start = out.length;
  begin(out, chunkCode.kept);
  write();
  const digest = textDigest(out.bytes.subarray(start + headBytes, out.length));
  if (trace.has(digest)) {
    refer(out, { start, code: chunkCode.same, digest });
  } else {
    finish(out, start);
    trace.digests.add(digest);
  }
}

/** Begins a piece whose text follows. */
function begin(out: JsonWriter, code: number): void {
  out.ensureCapacity(headBytes);
  out.bytes[out.length] = code;
  out.length += headBytes;
}

/** Ends the piece that began at `start`. */
function finish(out: JsonWriter, start: number): void {
  out.bytes.writeUInt32LE(out.length - start - headBytes, start + 1);
}

interface Reference {
  readonly start: number;
  readonly code: number;
  readonly digest: string;
}

/** Puts a digest in place of all that was written from `start` on. */
function refer(out: JsonWriter, { start, code, digest }: Reference): void {
  out.length = start;
  out.byte(code);
  out.ascii(digest);
}

/** One payload's pieces. */
class ValueChunks {
  readonly #out: JsonWriter;
  readonly #trace: TraceDraft;
  readonly #tape: Buffer;
  readonly #view: DataView;
  readonly #scan: TapeScan;
  /** Where the text began that means nothing beyond itself; -1 where none is open. */
  #textAt = -1;

  constructor(out: JsonWriter, trace: TraceDraft, { bytes, view }: TapeReader) {
    this.#out = out;
    this.#trace = trace;
    this.#tape = bytes;
    this.#view = view;
    this.#scan = new TapeScan(bytes, view);
  }

  payload(at: number): void {
    if (this.#tape[at] === tag.object) {
      this.#members(at);
    } else {
      this.#value(at);
    }
    this.#endText();
  }

  /** Returns where the next value begins, as all of these do. */
  #value(at: number): number {
    const kind = this.#tape[at];
    switch (kind) {
      case tag.object:
        return this.#object(at);
      case tag.array:
        return this.#array(at);
      case tag.text:
      case tag.wideText:
        return this.#view.getUint32(at + 1, true) >= keptFromBytes
          ? this.#whole(at)
          : this.#text(at);
      default:
        return this.#text(at);
    }
  }

  /** An object of moderate size that holds no list is likely to come again as it is. */
  #object(at: number): number {
    const scan = this.#scan;
    scan.sawBytes = false;
    scan.sawArray = false;
    const size = scan.past(at) - at;
    if (size < keptFromBytes) {
      return this.#text(at);
    }
    return size > wholeObjectBytes || scan.sawArray || scan.sawBytes
      ? this.#members(at)
      : this.#whole(at);
  }

  #members(start: number): number {
    let at = start + 1;
    this.#mark(0x7b);
    while (this.#tape[at] !== tag.end) {
      if (at !== start + 1) {
        this.#mark(comma);
      }
      this.#openText();
      at = this.#out.value(this.#tape, this.#view, at);
      this.#mark(colon);
      at = this.#value(at);
    }
    this.#mark(0x7d);
    return at + 1;
  }

  #array(at: number): number {
    const start = at + 1;
    const known = this.#trace.longestAt(this.#tape, start);
    if (known !== undefined) {
      return this.#list(start, known);
    }
    if (this.#tape[start] === tag.array) {
      return this.#elements(start);
    }
    const scan = this.#scan;
    scan.sawBytes = false;
    let end = start;
    let count = 0;
    for (; this.#tape[end] !== tag.end; count++) {
      end = scan.past(end);
    }
    if (end - start < keptFromBytes) {
      return this.#text(at);
    }
    if ((end - start) / count >= itemBytes) {
      return this.#list(start, undefined);
    }
    return scan.sawBytes ? this.#text(at) : this.#whole(at);
  }

  /** An array whose elements are arrays, each perhaps a list. */
  #elements(start: number): number {
    let at = start;
    this.#mark(0x5b);
    while (this.#tape[at] !== tag.end) {
      if (at !== start) {
        this.#mark(comma);
      }
      at = this.#value(at);
    }
    this.#mark(0x5d);
    return at + 1;
  }

  /** Items up to one that holds binary data, of which each run has its own; the rest is text. */
  #list(start: number, known: SentList | undefined): number {
    this.#endText();
    const listAt = this.#out.length;
    let at = start + (known?.items.length ?? 0);
    let digest = known?.digest ?? noItems;
    refer(this.#out, { start: listAt, code: chunkCode.list, digest });
    this.#scan.sawBytes = false;
    while (this.#tape[at] !== tag.end) {
      const end = this.#scan.past(at);
      if (this.#scan.sawBytes) {
        break;
      }
      digest = listDigest(digest, this.#item(at));
      if (this.#trace.has(digest)) {
        refer(this.#out, { start: listAt, code: chunkCode.list, digest });
      }
      this.#trace.digests.add(digest);
      at = end;
    }
    if (at - start >= keptFromBytes) {
      this.#trace.addList(this.#tape.subarray(start, at), digest);
    }
    for (let isFirst = at === start; this.#tape[at] !== tag.end; isFirst = false) {
      if (!isFirst) {
        this.#mark(comma);
      }
      at = this.#text(at);
    }
    this.#mark(0x5d);
    return at + 1;
  }

  /** One item of a list; returns its digest. */
  #item(at: number): string {
    const out = this.#out;
    const start = out.length;
    begin(out, chunkCode.item);
    out.value(this.#tape, this.#view, at);
    const size = out.length - start - headBytes;
    const digest = textDigest(out.bytes.subarray(start + headBytes, out.length));
    if (size >= keptFromBytes && this.#trace.has(digest)) {
      refer(out, { start, code: chunkCode.sameItem, digest });
      return digest;
    }
    finish(out, start);
    if (size >= keptFromBytes) {
      this.#trace.digests.add(digest);
    }
    return digest;
  }

  #whole(at: number): number {
    this.#endText();
    whole(this.#out, this.#trace, () => void this.#out.value(this.#tape, this.#view, at));
    return this.#scan.past(at);
  }

  #text(at: number): number {
    this.#openText();
    return this.#out.value(this.#tape, this.#view, at);
  }

  #mark(byte: number): void {
    this.#openText();
    this.#out.byte(byte);
  }

  #openText(): void {
    if (this.#textAt === -1) {
      this.#textAt = this.#out.length;
      begin(this.#out, chunkCode.text);
    }
  }

  #endText(): void {
    if (this.#textAt !== -1) {
      finish(this.#out, this.#textAt);
      this.#textAt = -1;
    }
  }
}
