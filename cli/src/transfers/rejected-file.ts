import { createReadStream } from "node:fs";
import { open, rm, truncate } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { isFileMissing } from "./find-files.ts";
import type { RejectedRow } from "millrace";
import { BadRow } from "../rows/source-row.ts";

/** Writes the rejected rows of a source file to a file next to it, which is created when the first row is rejected. */
export class RejectedFile {
  readonly path: string;
  #handle: FileHandle | undefined;
  #hasRows = false;
  /** Numbers of the rows that an interrupted upload already wrote to the file, and that this upload reads again. */
  #alreadyWritten: ReadonlySet<number> = new Set();

  constructor(path: string) {
    this.path = path;
  }

  get hasRows(): boolean {
    return this.#hasRows;
  }

  /**
   * Prepares the file. Without `doneRowCount`, deletes the file of an earlier upload. With `doneRowCount`, this upload
   * continues an interrupted one after that many rows, and appends to the file of the interrupted upload.
   */
  async prepare(doneRowCount: number | undefined): Promise<void> {
    if (doneRowCount === undefined) {
      await rm(this.path, { force: true });
    } else {
      this.#alreadyWritten = await readWrittenRows(this.path, doneRowCount);
    }
  }

  /**
   * Adds a rejected row. `item` is the value that was read from the source file. It is written as the row's content
   * if the row was rejected before it was converted, and so has no content of its own.
   */
  async add({ row, id, reason, content }: RejectedRow, item: unknown): Promise<void> {
    this.#hasRows = true;
    if (this.#alreadyWritten.has(row)) {
      return;
    }
    this.#handle ??= await open(this.path, "a", 0o600);
    const head = JSON.stringify({ row, id, reason });
    const contentJson =
      content ?? JSON.stringify(item instanceof BadRow ? item.text : (item ?? null));
    await this.#handle.write(`${head.slice(0, -1)},"content":${contentJson}}\n`);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }
}

/**
 * Reads the row numbers in a file of rejected rows, without those of the first `doneRowCount` rows, which this upload
 * does not read again. Removes an incomplete line at the end of the file.
 */
async function readWrittenRows(path: string, doneRowCount: number): Promise<ReadonlySet<number>> {
  const rowNumbers = new Set<number>();
  let readBytes = 0;
  let completeBytes = 0;
  /** The beginning of the current line: enough of it to contain the row number. */
  let lineHead = "";
  const appendToHead = (part: Buffer): void => {
    lineHead =
      lineHead.length < headLength ? lineHead + part.toString("latin1", 0, headLength) : lineHead;
  };
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      let lineStart = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, lineStart)) {
        appendToHead(chunk.subarray(lineStart, end));
        const row = Number(/^\{"row":(\d+)/.exec(lineHead)?.[1] ?? 0);
        if (row > doneRowCount) {
          rowNumbers.add(row);
        }
        lineHead = "";
        lineStart = end + 1;
        completeBytes = readBytes + lineStart;
      }
      appendToHead(chunk.subarray(lineStart));
      readBytes += chunk.length;
    }
    if (completeBytes < readBytes) {
      await truncate(path, completeBytes);
    }
  } catch (cause) {
    if (!isFileMissing(cause)) {
      throw cause;
    }
  }
  return rowNumbers;
}

const newline = 0x0a;
const headLength = 32;
