import { zstdCompressSync } from "./compression.ts";
import type { Compression, Connection } from "../../model/options/connection.ts";
import { isLoopback } from "../../model/options/connection.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { FrameFormat } from "./frame.ts";
import type { ContentEncoding } from "../wire.ts";

type ServerAddress = Pick<Connection, "endpoint" | "compression" | "socketPath">;

/**
 * The capabilities of the server, as far as this worker has found out. They begin with the defaults of the wire
 * format, so that no run waits for `/info`, and are updated from `/info`, from a 404 for a missing path, and from a
 * 415.
 */
export class ServerState {
  info: ServerInfo = defaultServerInfo;
  /**
   * Whether the result of `/info` is known: `info` has its content, or the server has no `/info`.
   */
  isInfoKnown = false;
  #multipartMissing = false;
  #batchMissing = false;
  #encodingRefused = false;
  readonly #compression: Compression;
  readonly #onThisMachine: boolean;

  constructor({ endpoint, compression, socketPath }: ServerAddress) {
    this.#compression = compression;
    this.#onThisMachine = socketPath !== undefined || isLoopback(new URL(endpoint).hostname);
  }

  /** Stores the content of `/info`. */
  updateInfo(info: ServerInfo): void {
    this.info = info;
    this.isInfoKnown = true;
  }

  /**
   * Chooses the format of a batch: multipart, but one JSON object for small runs, if the server
   * supports both.
   */
  formatFor({ isSmall }: { readonly isSmall: boolean }): FrameFormat {
    const supportsMultipart = this.info.multipart && !this.#multipartMissing;
    if (supportsMultipart && (this.#batchMissing || !isSmall)) {
      return "multipart";
    }
    return this.#batchMissing ? "single" : "batch";
  }

  /** The server does not have the path of this format. The next format is used from now on. */
  recordMissingPath(format: FrameFormat): void {
    this.#multipartMissing ||= format === "multipart";
    this.#batchMissing ||= format === "batch";
  }

  /**
   * Not even the path of the last format exists. The address may be wrong temporarily, so all
   * formats are tried again.
   */
  resetMissingPaths(): void {
    this.#multipartMissing = false;
    this.#batchMissing = false;
  }

  /**
   * The server rejects compressed bodies although it listed the encoding: it was replaced or
   * reconfigured.
   */
  refuseEncoding(): void {
    this.#encodingRefused = true;
  }

  /** The encoding of request bodies. Only an encoding that the server listed is used. */
  get encoding(): ContentEncoding | undefined {
    if (this.#encodingRefused) {
      return undefined;
    }
    const isAutomatic = this.#compression === "auto" && !this.#onThisMachine;
    if (
      (isAutomatic || this.#compression === "zstd") &&
      this.info.zstd &&
      zstdCompressSync !== undefined
    ) {
      return "zstd";
    }
    if ((isAutomatic || this.#compression === "gzip") && this.info.gzip) {
      return "gzip";
    }
    return undefined;
  }
}
