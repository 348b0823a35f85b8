import { open, mkdtemp, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";

/**
 * A temporary file for an upload whose form has not arrived completely. The file is deleted when it is closed or when
 * the process ends.
 */
export class UploadFile {
  readonly #file: FileHandle;
  readonly #folder: string;
  #isEmpty = true;

  private constructor(file: FileHandle, folder: string) {
    this.#file = file;
    this.#folder = folder;
  }

  static async open(parent: string): Promise<UploadFile> {
    const folder = await mkdtemp(join(parent, "upload-"));
    const file = await open(join(folder, "file"), "wx+", 0o600);
    // Delete the open file now, so that nothing is left after a crash. On platforms that can't delete open files,
    // `close` deletes it.
    await rm(folder, { recursive: true }).catch(() => undefined);
    return new UploadFile(file, folder);
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  async write(chunk: Buffer): Promise<void> {
    this.#isEmpty &&= chunk.length === 0;
    await this.#file.writeFile(chunk);
  }

  /** Reads everything that was written, from the beginning. */
  read(): AsyncIterable<Buffer> {
    return this.#file.createReadStream({ start: 0, autoClose: false, highWaterMark: 262_144 });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
