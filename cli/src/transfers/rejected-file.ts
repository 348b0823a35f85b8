import { createReadStream } from "node:fs";
import { open, rm, truncate } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { isFileMissing } from "./find-files.ts";
import type { RejectedRow } from "millrace";
import { BadRow } from "../rows/source-row.ts";

/** The file beside a source with the rows that were rejected: made with the first of them. */
export class RejectedFile {
  readonly path: string;
  #handle: FileHandle | undefined;
  #hasRows = false;
  /** Those that an earlier upload told and that are read again. */
  #told: ReadonlySet<number> = new Set();

  constructor(path: string) {
    this.path = path;
  }

  get hasRows(): boolean {
    return this.#hasRows;
  }

  /** Takes away what an earlier upload left; one that goes on behind so many rows adds to it. */
  async begin(doneRows: number | undefined): Promise<void> {
    if (doneRows === undefined) {
      await rm(this.path, { force: true });
    } else {
      this.#told = await readTold(this.path, doneRows);
    }
  }

  /** Adds a row. `item` is what was read, for one that did not come as far as to be sent. */
  async add({ row, id, reason, content }: RejectedRow, item: unknown): Promise<void> {
    this.#hasRows = true;
    if (this.#told.has(row)) {
      return;
    }
    this.#handle ??= await open(this.path, "a", 0o600);
    const head = JSON.stringify({ row, id, reason });
    const said = content ?? JSON.stringify(item instanceof BadRow ? item.text : (item ?? null));
    await this.#handle.write(`${head.slice(0, -1)},"content":${said}}\n`);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }
}

/** The rows behind `doneRows` that a file tells. What was cut off at its end goes. */
async function readTold(path: string, doneRows: number): Promise<ReadonlySet<number>> {
  const told = new Set<number>();
  let size = 0;
  let wholeSize = 0;
  /** Of the line that is being read: enough of it to see its row. */
  let head = "";
  const take = (piece: Buffer): void => {
    head = head.length < headLength ? head + piece.toString("latin1", 0, headLength) : head;
  };
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, end));
        const row = Number(/^\{"row":(\d+)/.exec(head)?.[1] ?? 0);
        if (row > doneRows) {
          told.add(row);
        }
        head = "";
        from = end + 1;
        wholeSize = size + from;
      }
      take(chunk.subarray(from));
      size += chunk.length;
    }
    if (wholeSize < size) {
      await truncate(path, wholeSize);
    }
  } catch (cause) {
    if (!isFileMissing(cause)) {
      throw cause;
    }
  }
  return told;
}

const newline = 0x0a;
const headLength = 32;
