import { RequestError } from "../model/errors.ts";
import { releaseChunks } from "./release-chunks.ts";
import { serverLimits } from "../model/options.ts";
import { parsePartHead } from "./part-head.ts";
import type { PartHead } from "./part-head.ts";

/** One part of a multipart body. Its bytes may be a slice of a pushed chunk. The receiver may keep them. */
export interface Part {
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The reason why the part is invalid, if it is. The parts before and after it can still be valid. */
  readonly fault: string | undefined;
}

type State =
  /** Before the first part. The bytes there are ignored. */
  | { readonly kind: "preamble" }
  /** After a boundary: either a line end follows, or `--` after the last part. */
  | { readonly kind: "boundaryEnd" }
  /** At the headers of a part. */
  | { readonly kind: "head" }
  /** At the content of a part that announced its length. */
  | { readonly kind: "body"; readonly head: PartHead; readonly length: number }
  /** At the content of a part whose announced length is missing or wrong: searches for the next boundary. */
  | { readonly kind: "search"; readonly head: PartHead; readonly searchedBytes: number }
  /** After the last boundary. The bytes there are ignored. */
  | { readonly kind: "end" };

const headEndBytes = Buffer.from("\r\n\r\n");
const dashes = Buffer.from("--");

/**
 * Parses multipart/form-data while it arrives. A part announces its length, so the parser jumps to its end and
 * expects a boundary there, instead of searching for it. If the length is missing or wrong, the parser searches for
 * the boundary, reports the part with a fault, and continues with the next part.
 */
export class MultipartParser {
  readonly #delimiter: Buffer;
  readonly #onPart: (part: Part) => void;
  readonly #needsLengths: boolean;
  #state: State = { kind: "preamble" };
  /**
   * Chunks that are not parsed yet. They are joined once there are `#wantedBytes` of them, so that no byte is copied
   * repeatedly. A line end precedes the body, because `#delimiter` begins with one, but the first boundary may not.
   */
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

  /**
   * Parses a chunk. The caller must not use the chunk afterwards, because the parser may release its memory.
   *
   * @throws RequestError if the body exceeds a limit, or is so malformed that the rest can't be parsed.
   */
  push(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes >= this.#wantedBytes) {
      this.#parsePending();
    }
  }

  /**
   * Must be called at the end of the body.
   *
   * @throws RequestError 422: the body ended before its closing boundary.
   */
  end(): void {
    if (this.#state.kind === "body") {
      this.#state = { kind: "search", head: this.#state.head, searchedBytes: 0 };
    }
    this.#parsePending();
    if (this.#state.kind !== "end") {
      throw new RequestError(422, "the multipart body ends before its closing boundary");
    }
  }

  #parsePending(): void {
    const [first, ...laterChunks] = this.#pending;
    const joinedChunks = laterChunks.length === 0 ? first : Buffer.concat(this.#pending);
    releaseChunks(laterChunks); // The first chunk is kept: parts may be slices of it.
    let position = 0;
    for (let next: number | undefined = 0; joinedChunks !== undefined && next !== undefined;) {
      position = next;
      next = this.#step(joinedChunks, position);
    }
    const remaining = joinedChunks?.subarray(position) ?? Buffer.alloc(0);
    this.#pending = [remaining];
    this.#pendingBytes = remaining.length;
  }

  /** Performs one step. Returns the position of the next step, or `undefined` if more bytes are needed. */
  #step(data: Buffer, position: number): number | undefined {
    const state = this.#state;
    switch (state.kind) {
      case "preamble":
        return this.#skipPreamble(data, position);
      case "boundaryEnd":
        return this.#readBoundaryEnd(data, position);
      case "head":
        return this.#readHead(data, position);
      case "body":
        return this.#readBody(data, position, state);
      case "search":
        return this.#searchEnd(data, position, state);
      case "end":
        return position === data.length ? undefined : data.length;
    }
  }

  #skipPreamble(data: Buffer, position: number): number | undefined {
    const delimiterPosition = data.indexOf(this.#delimiter, position);
    if (delimiterPosition === -1) {
      if (data.length - position > serverLimits.partHeaderBytes) {
        throw new RequestError(422, "the multipart body does not begin with its boundary");
      }
      return this.#waitForBytes(data.length - position + 1);
    }
    this.#state = { kind: "boundaryEnd" };
    return delimiterPosition + this.#delimiter.length;
  }

  #readBoundaryEnd(data: Buffer, position: number): number | undefined {
    if (data.length - position < 2) {
      return this.#waitForBytes(2);
    }
    if (data.compare(dashes, 0, 2, position, position + 2) === 0) {
      this.#state = { kind: "end" };
      return position + 2;
    }
    if (data.compare(headEndBytes, 0, 2, position, position + 2) !== 0) {
      throw new RequestError(422, "a multipart boundary is followed by neither a line end nor --");
    }
    this.#partCount += 1;
    if (this.#partCount > serverLimits.parts) {
      throw new RequestError(
        413,
        `more than ${serverLimits.parts} parts in one request: send fewer per request`,
      );
    }
    this.#state = { kind: "head" };
    // Do not skip the line end, because an empty head consists of this line end and the next one.
    return position;
  }

  #readHead(data: Buffer, position: number): number | undefined {
    const headEndPosition = data.indexOf(headEndBytes, position);
    const size = (headEndPosition === -1 ? data.length : headEndPosition) - position;
    if (size > serverLimits.partHeaderBytes) {
      throw new RequestError(
        422,
        `the headers of part ${this.#partCount} are longer than ${serverLimits.partHeaderBytes} bytes`,
      );
    }
    if (headEndPosition === -1) {
      return this.#waitForBytes(size + 1);
    }
    const head = parsePartHead(
      data.toString("utf8", position + 2, Math.max(position + 2, headEndPosition)),
    );
    const { length } = head;
    this.#state =
      length === undefined || length > serverLimits.bodyBytesMax
        ? { kind: "search", head, searchedBytes: 0 }
        : { kind: "body", head, length };
    return headEndPosition + headEndBytes.length;
  }

  #readBody(
    data: Buffer,
    position: number,
    { head, length }: Extract<State, { kind: "body" }>,
  ): number | undefined {
    const end = position + length;
    const next = end + this.#delimiter.length;
    if (data.length < next) {
      return this.#waitForBytes(next - position);
    }
    if (data.compare(this.#delimiter, 0, this.#delimiter.length, end, next) !== 0) {
      this.#state = { kind: "search", head, searchedBytes: 0 };
      return position;
    }
    this.#endPart(head, data.subarray(position, end));
    return next;
  }

  #searchEnd(
    data: Buffer,
    position: number,
    { head, searchedBytes }: Extract<State, { kind: "search" }>,
  ): number | undefined {
    const found = data.indexOf(this.#delimiter, position + searchedBytes);
    if (found === -1) {
      const size = data.length - position;
      const searched = Math.max(0, size - this.#delimiter.length);
      this.#state = { kind: "search", head, searchedBytes: searched };
      return this.#waitForBytes(size + Math.max(1, size >> 1));
    }
    this.#endPart(head, data.subarray(position, found));
    return found + this.#delimiter.length;
  }

  #endPart({ name, contentType, length, fault }: PartHead, bytes: Buffer): void {
    const isLengthWrong = length !== undefined && length !== bytes.length;
    const wrongLengthFault = isLengthWrong
      ? `announces ${length} bytes and has ${bytes.length}`
      : undefined;
    const missingLengthFault =
      length === undefined && this.#needsLengths
        ? "has no length, neither in Content-Type nor as Content-Length"
        : undefined;
    this.#state = { kind: "boundaryEnd" };
    this.#onPart({
      name,
      contentType,
      bytes,
      fault: fault ?? wrongLengthFault ?? missingLengthFault,
    });
  }

  #waitForBytes(bytes: number): undefined {
    this.#wantedBytes = bytes;
  }
}

/**
 * Returns the boundary of a multipart body.
 *
 * @throws RequestError 422: the content type contains no boundary.
 */
export function readBoundary(contentType: string | undefined): string {
  const boundaryMatch = /^multipart\/form-data\b/i.test(contentType ?? "")
    ? boundaryPattern.exec(contentType ?? "")
    : null;
  const boundary = boundaryMatch?.[1] ?? boundaryMatch?.[2];
  if (boundary === undefined) {
    throw new RequestError(
      422,
      "the content type must be multipart/form-data with a boundary of 1 to 70 characters",
    );
  }
  return boundary;
}

const boundaryPattern = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
