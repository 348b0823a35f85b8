import { open, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import type { RejectedRow } from "millrace";
import { BadRow } from "./rows/source-row.ts";

/** The file beside a source with the rows that were rejected: made with the first of them. */
export class RejectedFile {
  readonly path: string;
  #handle: FileHandle | undefined;
  #hasRows = false;

  constructor(path: string) {
    this.path = path;
  }

  get hasRows(): boolean {
    return this.#hasRows;
  }

  /** Takes away what an earlier upload left; one that goes on adds to it. */
  async begin({ isOn }: { readonly isOn: boolean }): Promise<void> {
    if (!isOn) {
      await rm(this.path, { force: true });
    }
  }

  /** Adds a row. `item` is what was read, for one that did not come as far as to be sent. */
  async add({ row, id, reason, content }: RejectedRow, item: unknown): Promise<void> {
    this.#hasRows = true;
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
