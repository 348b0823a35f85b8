import { RequestError } from "../model/errors.ts";
import { releasePieces } from "./release-pieces.ts";
import { serverLimits } from "../model/options.ts";
import { parsePartHead } from "./part-head.ts";
import type { PartHead } from "./part-head.ts";

/** One part of a multipart body. Its bytes lie in the chunks that were pushed, and may be kept. */
export interface Part {
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Why the part can't be taken; its neighbours can. */
  readonly fault: string | undefined;
}

type State =
  /** Before the first part. What stands there is skipped. */
  | { readonly kind: "preamble" }
  /** After a boundary: a line end, or two dashes at the end of the body. */
  | { readonly kind: "boundaryEnd" }
  | { readonly kind: "head" }
  /** In a part whose announced end was not yet looked at. */
  | { readonly kind: "body"; readonly head: PartHead; readonly length: number }
  /** In a part whose length is unknown or wrong: its end is searched. */
  | { readonly kind: "search"; readonly head: PartHead; readonly searchedBytes: number }
  | { readonly kind: "end" };

const headEnd = Buffer.from("\r\n\r\n");
const dashes = Buffer.from("--");

/**
 * Reads multipart/form-data as it arrives. A part announces its length, so its end is jumped to and
 * compared, not searched for. Where the announcement is missing or wrong the end is searched, the
 * part is handed on with its fault, and the next one is read as usual.
 */
export class MultipartParser {
  readonly #delimiter: Buffer;
  readonly #onPart: (part: Part) => void;
  readonly #needsLengths: boolean;
  #state: State = { kind: "preamble" };
  /** Chunks not yet consumed; joined when `#wantedBytes` are there, so that no byte is joined often. */
  #pending: Buffer[] = [Buffer.from("\r\n")];
  #pendingBytes = 2;
  #wantedBytes = 0;
  #partCount = 0;

  constructor(
    boundary: string,
    onPart: (part: Part) => void,
    { lengths = "required" }: { readonly lengths?: "required" | "optional" } = {},
  ) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
    this.#onPart = onPart;
    this.#needsLengths = lengths === "required";
  }

  /** The chunk is the parser's from then on, its memory too. @throws RequestError the body breaks the format beyond repair, or a bound. */
  push(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes >= this.#wantedBytes) {
      this.#consume();
    }
  }

  /** The body has ended. @throws RequestError it ended too early. */
  end(): void {
    if (this.#state.kind === "body") {
      this.#state = { kind: "search", head: this.#state.head, searchedBytes: 0 };
    }
    this.#consume();
    if (this.#state.kind !== "end") {
      throw new RequestError(422, "the multipart body ends before its closing boundary");
    }
  }

  #consume(): void {
    const [first, ...more] = this.#pending;
    const data = more.length === 0 ? first : Buffer.concat(this.#pending);
    releasePieces(more); // Of the first there may be parts.
    let at = 0;
    for (let next: number | undefined = 0; data !== undefined && next !== undefined;) {
      at = next;
      next = this.#step(data, at);
    }
    const rest = data?.subarray(at) ?? Buffer.alloc(0);
    this.#pending = [rest];
    this.#pendingBytes = rest.length;
  }

  /** One state further; where to go on, or `undefined` when more bytes are needed. */
  #step(data: Buffer, at: number): number | undefined {
    const state = this.#state;
    switch (state.kind) {
      case "preamble":
        return this.#skipPreamble(data, at);
      case "boundaryEnd":
        return this.#readBoundaryEnd(data, at);
      case "head":
        return this.#readHead(data, at);
      case "body":
        return this.#readBody(data, at, state);
      case "search":
        return this.#searchEnd(data, at, state);
      case "end":
        return at === data.length ? undefined : data.length;
    }
  }

  #skipPreamble(data: Buffer, at: number): number | undefined {
    const found = data.indexOf(this.#delimiter, at);
    if (found === -1) {
      if (data.length - at > serverLimits.partHeaderBytes) {
        throw new RequestError(422, "the multipart body does not begin with its boundary");
      }
      return this.#wait(data.length - at + 1);
    }
    this.#state = { kind: "boundaryEnd" };
    return found + this.#delimiter.length;
  }

  #readBoundaryEnd(data: Buffer, at: number): number | undefined {
    if (data.length - at < 2) {
      return this.#wait(2);
    }
    if (data.compare(dashes, 0, 2, at, at + 2) === 0) {
      this.#state = { kind: "end" };
      return at + 2;
    }
    if (data.compare(headEnd, 0, 2, at, at + 2) !== 0) {
      throw new RequestError(422, "a multipart boundary is followed by neither a line end nor --");
    }
    this.#partCount += 1;
    if (this.#partCount > serverLimits.parts) {
      throw new RequestError(
        413,
        `more than ${serverLimits.parts} parts in one request: send fewer in one`,
      );
    }
    this.#state = { kind: "head" };
    // The line end stays: a head without lines begins with the one that ends it.
    return at;
  }

  #readHead(data: Buffer, at: number): number | undefined {
    const found = data.indexOf(headEnd, at);
    const size = (found === -1 ? data.length : found) - at;
    if (size > serverLimits.partHeaderBytes) {
      throw new RequestError(
        422,
        `the headers of part ${this.#partCount} are longer than ${serverLimits.partHeaderBytes} bytes`,
      );
    }
    if (found === -1) {
      return this.#wait(size + 1);
    }
    const head = parsePartHead(data.toString("utf8", at + 2, Math.max(at + 2, found)));
    const { length } = head;
    this.#state =
      length === undefined || length > serverLimits.bodyBytesMax
        ? { kind: "search", head, searchedBytes: 0 }
        : { kind: "body", head, length };
    return found + headEnd.length;
  }

  #readBody(
    data: Buffer,
    at: number,
    { head, length }: Extract<State, { kind: "body" }>,
  ): number | undefined {
    const end = at + length;
    const next = end + this.#delimiter.length;
    if (data.length < next) {
      return this.#wait(next - at);
    }
    if (data.compare(this.#delimiter, 0, this.#delimiter.length, end, next) !== 0) {
      this.#state = { kind: "search", head, searchedBytes: 0 };
      return at;
    }
    this.#emit(head, data.subarray(at, end));
    return next;
  }

  #searchEnd(
    data: Buffer,
    at: number,
    { head, searchedBytes }: Extract<State, { kind: "search" }>,
  ): number | undefined {
    const found = data.indexOf(this.#delimiter, at + searchedBytes);
    if (found === -1) {
      const size = data.length - at;
      const searched = Math.max(0, size - this.#delimiter.length);
      this.#state = { kind: "search", head, searchedBytes: searched };
      return this.#wait(size + Math.max(1, size >> 1));
    }
    this.#emit(head, data.subarray(at, found));
    return found + this.#delimiter.length;
  }

  #emit({ name, contentType, length, fault }: PartHead, bytes: Buffer): void {
    const isWrong = length !== undefined && length !== bytes.length;
    const wrong = isWrong ? `announces ${length} bytes and has ${bytes.length}` : undefined;
    const missing =
      length === undefined && this.#needsLengths
        ? "has no length, neither in Content-Type nor as Content-Length"
        : undefined;
    this.#state = { kind: "boundaryEnd" };
    this.#onPart({ name, contentType, bytes, fault: fault ?? wrong ?? missing });
  }

  #wait(bytes: number): undefined {
    this.#wantedBytes = bytes;
  }
}

/** The boundary of a multipart body. @throws RequestError 422: the content type names none. */
export function readBoundary(contentType: string | undefined): string {
  const found = /^multipart\/form-data\b/i.test(contentType ?? "")
    ? boundaryPattern.exec(contentType ?? "")
    : null;
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) {
    throw new RequestError(
      422,
      "the content type is multipart/form-data with a boundary of 1 to 70 characters",
    );
  }
  return boundary;
}

const boundaryPattern = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
