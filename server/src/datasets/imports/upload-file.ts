import { open, mkdtemp, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** A file for what arrives before it is known what to do with it. Gone when closed, or with the process. */
export class Spool {
  readonly #file: FileHandle;
  readonly #folder: string;
  #isEmpty = true;

  private constructor(file: FileHandle, folder: string) {
    this.#file = file;
    this.#folder = folder;
  }

  static async open(parent: string): Promise<Spool> {
    const folder = await mkdtemp(join(parent, "upload-"));
    const file = await open(join(folder, "file"), "wx+", 0o600);
    // Where an open file may be removed, a crash leaves nothing behind; elsewhere close does it.
    await rm(folder, { recursive: true }).catch(() => undefined);
    return new Spool(file, folder);
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  async write(chunk: Buffer): Promise<void> {
    this.#isEmpty &&= chunk.length === 0;
    await this.#file.writeFile(chunk);
  }

  /** All that was written, from its beginning. */
  read(): AsyncIterable<Buffer> {
    return this.#file.createReadStream({ start: 0, autoClose: false, highWaterMark: 262_144 });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
