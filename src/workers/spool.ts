import { randomInt } from "node:crypto";
import { mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";

/** u32 magic, u16 version, u16 zero, u32 bytes of the body, u32 CRC-32 of the body; little-endian. */
const headBytes = 16;
const magic = 0x43_4c_52_4d;
const formatVersion = 1;
const namePattern = /^\d+-(\d+)-\d+\.tape(?:\.(\d+))?$/;
/** Only the owner may read: a spooled run is as private as the run. */
const fileMode = 0o600;
const folderMode = 0o700;

/** One spooled tape that this process has claimed. */
export interface SpooledTape {
  /** Records one after another, as on a tape. */
  readonly body: Uint8Array;
  /** Deletes the file: what became of its records is known. */
  release(): Promise<void>;
}

/**
 * A folder of tapes that could not be delivered, one file each. A file is claimed by renaming it,
 * so that two processes with one folder send each tape once; the claim of a dead process is void.
 */
export class Spool {
  readonly #folder: string;
  /** From anywhere, so that two clients of one process never write to one name. */
  #sequence = randomInt(2 ** 40);

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Writes records as one file, whole or not at all. Blocks: it is for the end of a process.
   *
   * @throws the file system's error, such as a full disk.
   */
  write(body: Uint8Array): void {
    mkdirSync(this.#folder, { recursive: true, mode: folderMode });
    const head = Buffer.alloc(headBytes);
    head.writeUInt32LE(magic, 0);
    head.writeUInt16LE(formatVersion, 4);
    head.writeUInt32LE(body.length, 8);
    head.writeUInt32LE(crc32(body), 12);
    const path = join(this.#folder, `${Date.now()}-${process.pid}-${this.#sequence++}.tape`);
    writeFileSync(`${path}.part`, Buffer.concat([head, body]), {
      mode: fileMode,
      flag: "wx",
    });
    renameSync(`${path}.part`, path);
  }

  /** Claims and reads the tapes of the folder, the oldest first. Skips what it can't read or trust. */
  async *claim(onSkip: (name: string, reason: string) => void): AsyncGenerator<SpooledTape> {
    await mkdir(this.#folder, { recursive: true, mode: folderMode });
    const names = (await readdir(this.#folder)).filter((name) => this.#isClaimable(name));
    for (const name of names.toSorted(byAge)) {
      const path = join(this.#folder, name);
      const claimed = join(this.#folder, `${name.replace(/\.\d+$/, "")}.${process.pid}`);
      try {
        await rename(path, claimed);
      } catch {
        // Another process was faster, and sends it.
        continue;
      }
      const body = await readClaimed(claimed);
      if (typeof body === "string") {
        onSkip(name, body);
        await rename(claimed, `${claimed}.bad`);
      } else {
        yield { body, release: () => rm(claimed, { force: true }) };
      }
    }
  }

  #isClaimable(name: string): boolean {
    const match = namePattern.exec(name);
    if (match === null) {
      return false;
    }
    const owner = match[2];
    if (owner === undefined || !isAlive(Number(owner))) {
      return true;
    }
    // In a container every process has the same pid: the claim may be of the one before.
    return Number(owner) === process.pid && claimedAt(join(this.#folder, name)) < processStart();
  }
}

/** The body of a claimed file, or why it can't be used. Its time of change becomes that of the claim. */
async function readClaimed(path: string): Promise<Uint8Array | string> {
  try {
    await utimes(path, new Date(), new Date());
    return readBody(await readFile(path));
  } catch (error) {
    return `unreadable (${error instanceof Error ? error.message : String(error)})`;
  }
}

/** Milliseconds since the Unix epoch; of a file that is gone none that matters. */
const claimedAt = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;

const processStart = (): number => Date.now() - process.uptime() * 1_000;

/** The body of a spool file, or why it can't be trusted. */
function readBody(file: Buffer): Uint8Array | string {
  if (file.length < headBytes || file.readUInt32LE(0) !== magic) {
    return "not a spool file";
  }
  const version = file.readUInt16LE(4);
  if (version !== formatVersion) {
    return `of format version ${version}; this one reads ${formatVersion}`;
  }
  const body = file.subarray(headBytes);
  if (file.readUInt32LE(8) !== body.length) {
    return "cut short";
  }
  return file.readUInt32LE(12) === crc32(body) ? body : "damaged (its checksum differs)";
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** By the time in the name, then by sequence. */
const byAge = (left: string, right: string): number =>
  left.localeCompare(right, "en", { numeric: true });
