import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Time in milliseconds for which changes are collected, because an editor may write a file in several steps. */
const settleMs = 100;

/** Watches the modules that files have loaded, and returns the files to run again when a module changes. */
export class ModuleWatch {
  /** The files that loaded a module, by its path. */
  readonly #filesByModule = new Map<string, Set<string>>();
  readonly #folders = new Map<string, FSWatcher>();
  /** The files to run again. */
  readonly #changed = new Set<string>();
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Adds modules that a file has loaded. */
  add(file: string, modulePaths: readonly string[]): void {
    for (const path of [file, ...modulePaths]) {
      const files = this.#filesByModule.get(path) ?? new Set();
      this.#filesByModule.set(path, files.add(file));
      this.#watchFolder(dirname(path));
    }
  }

  /** Waits for changes, and returns the files to run again; an empty list if the signal was aborted. */
  async waitForChanges(signal: AbortSignal): Promise<readonly string[]> {
    while (this.#changed.size === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    const files = [...this.#changed];
    this.#changed.clear();
    return signal.aborted ? [] : files;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#folders.forEach((watcher) => watcher.close());
  }

  // Watch the folder instead of its files, because many editors replace a file by a new one.
  #watchFolder(folder: string): void {
    if (this.#folders.has(folder)) {
      return;
    }
    try {
      const watcher = watch(folder, (_, name) => {
        const files =
          name === null ? undefined : this.#filesByModule.get(join(folder, basename(name)));
        if (files !== undefined) {
          files.forEach((file) => this.#changed.add(file));
          clearTimeout(this.#timer);
          this.#timer = setTimeout(() => this.#wake?.(), settleMs);
        }
      });
      // A removed folder can't be watched any more. Its files are gone, too.
      watcher.on("error", () => watcher.close());
      this.#folders.set(folder, watcher);
    } catch {
      // The folder does not exist, for example because a loader created the module in memory.
    }
  }
}
