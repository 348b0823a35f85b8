import { open, readFile, rename, rm } from "node:fs/promises";
import { isFileMissing } from "../transfers/find-files.ts";
import { UsageError } from "../usage-error.ts";
import { isObject, toObject, toText } from "./model/json-values.ts";
import { Tally } from "./model/tally.ts";

/** The position at which an import ended. */
export interface ImportPosition {
  readonly phase: string;
  /** Key of the item within the phase. All items with lesser keys are complete. */
  readonly item: string;
  /** The cursor of the item's next page. Absent if the item is complete. */
  readonly cursor?: string;
}

/**
 * The servers and options of an import. A checkpoint with different values belongs to another import, and is refused.
 */
export type ImportIdentity = Readonly<Record<string, unknown>>;

/** The progress of an import, as its checkpoint stores it. */
export interface StoredImport {
  /**
   * Runs that started at this time or later are not imported, because the import would otherwise never end if new runs
   * keep arriving.
   */
  readonly until: string;
  /** Id of the account at the source, such as a workspace. */
  readonly account: string;
  readonly position: ImportPosition | undefined;
  readonly tally: Tally;
}

const format = 1;

/**
 * A file with the progress of an import. It is replaced as a whole after each page that the server has acknowledged, so
 * it is always complete, even if the process is killed. It contains ids, names, counts and reasons, but no keys and no
 * inputs, outputs or texts of prompts.
 */
export class ImportCheckpoint {
  readonly #path: string;
  readonly #identity: ImportIdentity;

  constructor(path: string, identity: ImportIdentity) {
    this.#path = path;
    this.#identity = identity;
  }

  get path(): string {
    return this.#path;
  }

  /**
   * Reads the progress; `undefined` if there is no file.
   *
   * @throws {@link UsageError} if the file is not a checkpoint, or belongs to another import.
   */
  async read(): Promise<StoredImport | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (cause) {
      if (isFileMissing(cause)) {
        return undefined;
      }
      throw new UsageError(
        `the checkpoint ${this.#path} can't be read: ${String(cause)}. Check the file's permissions, or name another file with --checkpoint`,
        { cause },
      );
    }
    const stored = parseJson(text);
    const until = toText(stored["until"]);
    if (stored["format"] !== format || until === undefined || !isObject(stored["import"])) {
      throw new UsageError(
        `${this.#path} is not the checkpoint of an import: remove it, or name another file with --checkpoint`,
      );
    }
    this.#assertSame(stored["import"]);
    return {
      until,
      account: toText(stored["account"]) ?? "",
      position: parsePosition(stored["position"]),
      tally: Tally.parse(stored["tally"]),
    };
  }

  async write({ until, account, position, tally }: StoredImport): Promise<void> {
    const json = JSON.stringify({
      format,
      import: this.#identity,
      account,
      until,
      position,
      tally,
    });
    const file = await open(this.#temporaryPath, "w", 0o600);
    try {
      await file.writeFile(`${json}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(this.#temporaryPath, this.#path);
  }

  /** @throws {@link UsageError} if the import began with a key of another account. */
  assertAccount(stored: StoredImport, account: string): void {
    if (stored.account !== account) {
      throw new UsageError(
        `the checkpoint ${this.#path} belongs to an import from another account of the source, ${stored.account}; the key belongs to ${account}. Use a key of that account, or name another file with --checkpoint`,
      );
    }
  }

  /** Removes the file after a complete import. */
  async remove(): Promise<void> {
    await rm(this.#temporaryPath, { force: true });
    await rm(this.#path, { force: true });
  }

  /**
   * The name is always the same, so that an import that was killed leaves at most one such file, which the next import
   * replaces.
   */
  get #temporaryPath(): string {
    return `${this.#path}.tmp`;
  }

  #assertSame(stored: ImportIdentity): void {
    const differences = Object.entries(this.#identity).flatMap(([name, value]) => {
      const [storedText, currentText] = [JSON.stringify(stored[name]), JSON.stringify(value)];
      return storedText === currentText
        ? []
        : [`${name} was ${storedText ?? "not given"}, not ${currentText ?? "absent"}`];
    });
    if (differences.length > 0) {
      throw new UsageError(
        `the checkpoint ${this.#path} belongs to another import: ${differences.join("; ")}. Repeat the command that wrote it, remove it, or name another file with --checkpoint`,
      );
    }
  }
}

function parsePosition(json: unknown): ImportPosition | undefined {
  const { phase, item, cursor } = toObject(json);
  return typeof phase === "string" && typeof item === "string"
    ? { phase, item, ...(typeof cursor === "string" ? { cursor } : {}) }
    : undefined;
}

function parseJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return toObject(JSON.parse(text));
  } catch {
    // The caller reports that the file is not a checkpoint.
    return {};
  }
}
