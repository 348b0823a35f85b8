import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describeError } from "../rows/deadline.ts";
import { toChunks } from "./stored-body.ts";
import type { StoredBody } from "./stored-body.ts";

/** Version of the file format. */
const format = 1;

/** A request and its response, as a file contains them. */
export interface CachedExchange {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly repetition: number;
    readonly occurrence: number;
    /** Stored for people who read the file; not needed to find the response. */
    readonly body?: StoredBody;
  };
  readonly response: {
    readonly status: number;
    readonly contentType?: string;
    readonly body: StoredBody;
  };
}

/** The content of a file, or the reason why it can't be used. */
export type CacheEntry =
  | { readonly kind: "found"; readonly exchange: CachedExchange; readonly isEdited: boolean }
  | { readonly kind: "missing" }
  | { readonly kind: "damaged"; readonly reason: string };

/** Returns the path of a request's file. Each host has a folder, so that people can find a file. */
export const toCachePath = (
  folder: string,
  { url, digest }: { readonly url: string; readonly digest: string },
  { repetition, occurrence }: { readonly repetition: number; readonly occurrence: number },
): string =>
  join(
    folder,
    new URL(url).host.replace(/[^\w.-]+/g, "-"),
    `${digest}-${repetition}-${occurrence}.json`,
  );

/**
 * Reads and checks a cache file.
 *
 * @throws the error of the file system if the file exists but can't be read.
 */
export async function readCacheFile(path: string): Promise<CacheEntry> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return { kind: "missing" };
    }
    throw error;
  }
  try {
    const { format: fileFormat, digest, ...exchange } = JSON.parse(text) as StoredFile;
    if (fileFormat !== format) {
      return { kind: "damaged", reason: "its format version is not supported" };
    }
    const { status, contentType } = exchange.response;
    if (!Number.isInteger(status) || status < 200 || status > 299) {
      return { kind: "damaged", reason: "its status is not between 200 and 299" };
    }
    if (contentType !== undefined && typeof contentType !== "string") {
      return { kind: "damaged", reason: "its content type is not a string" };
    }
    // This throws if the body has an unknown form.
    toChunks(exchange.response.body);
    return { kind: "found", exchange, isEdited: digest !== computeDigest(exchange) };
  } catch (error) {
    return { kind: "damaged", reason: describeError(error) };
  }
}

interface StoredFile extends CachedExchange {
  readonly format: number;
  /** Digest of the request and the response. It differs from a newly computed digest if someone edited the file. */
  readonly digest: string;
}

const computeDigest = ({ request, response }: CachedExchange): string =>
  createHash("sha256")
    .update(JSON.stringify([request, response]))
    .digest("hex")
    .slice(0, 32);

/** Writes a file completely or not at all. */
export async function writeCacheFile(path: string, exchange: CachedExchange): Promise<void> {
  // Convert the exchange to JSON and back before the digest is computed, as `readCacheFile` does: this can change the
  // order of numeric keys.
  const plain = JSON.parse(JSON.stringify(exchange)) as CachedExchange;
  const stored: StoredFile = { format, ...plain, digest: computeDigest(plain) };
  await mkdir(dirname(path), { recursive: true });
  const temporaryPath = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporaryPath, `${JSON.stringify(stored, null, 2)}\n`);
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
}

/** Renames a damaged file, so that its content is kept and another file can take its place. Returns its new path. */
export async function renameDamaged(path: string): Promise<string> {
  const newPath = `${path}.damaged`;
  await rename(path, newPath);
  return newPath;
}
