import { zstdCompressSync } from "./compression.ts";
import type { Compression, Connection } from "../../model/options/connection.ts";
import { isLoopback } from "../../model/options/connection.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { BodyFormat } from "./request-body.ts";
import type { ContentEncoding } from "../wire.ts";

/** The connection settings that determine which encodings are used. */
type ServerAddress = Pick<Connection, "endpoint" | "compression" | "socketPath">;

/**
 * The capabilities of the server, as far as this worker has found out. They begin with the defaults of the wire
 * format, so that no run waits for `/info`, and are updated from `/info`, from a 404 for a missing path, and from a
 * 415.
 */
export class ServerState {
  serverInfo: ServerInfo = defaultServerInfo;
  /** Whether the result of `/info` is known: `serverInfo` has its content, or the server has no `/info`. */
  isInfoKnown = false;
  #isMultipartMissing = false;
  #isBatchMissing = false;
  #isEncodingRefused = false;
  readonly #compression: Compression;
  readonly #isOnThisMachine: boolean;

  constructor({ endpoint, compression, socketPath }: ServerAddress) {
    this.#compression = compression;
    this.#isOnThisMachine = socketPath !== undefined || isLoopback(new URL(endpoint).hostname);
  }

  /** Stores the content of `/info`. */
  updateInfo(info: ServerInfo): void {
    this.serverInfo = info;
    this.isInfoKnown = true;
  }

  /**
   * Chooses the format of a batch: multipart, but one JSON object for small runs, if the server
   * supports both.
   */
  chooseFormat({ isSmall }: { readonly isSmall: boolean }): BodyFormat {
    const supportsMultipart = this.serverInfo.multipart && !this.#isMultipartMissing;
    if (supportsMultipart && (this.#isBatchMissing || !isSmall)) {
      return "multipart";
    }
    return this.#isBatchMissing ? "single" : "batch";
  }

  /** Call this when the server does not have the path for a format. Later batches are sent in the next format. */
  recordMissingPath(format: BodyFormat): void {
    this.#isMultipartMissing ||= format === "multipart";
    this.#isBatchMissing ||= format === "batch";
  }

  /**
   * Call this when the server does not even have the path for single runs, the last of the formats. The address may
   * temporarily lead to a wrong server, so all formats are tried again.
   */
  resetMissingPaths(): void {
    this.#isMultipartMissing = false;
    this.#isBatchMissing = false;
  }

  /**
   * Call this when the server rejects compressed bodies although it listed the encoding in `/info`, for example because
   * it was replaced. Later bodies are not compressed.
   */
  recordRefusedEncoding(): void {
    this.#isEncodingRefused = true;
  }

  /** The encoding of request bodies. Only an encoding that the server listed is used. */
  get encoding(): ContentEncoding | undefined {
    if (this.#isEncodingRefused) {
      return undefined;
    }
    const isAutomatic = this.#compression === "auto" && !this.#isOnThisMachine;
    if (
      (isAutomatic || this.#compression === "zstd") &&
      this.serverInfo.zstd &&
      zstdCompressSync !== undefined
    ) {
      return "zstd";
    }
    if ((isAutomatic || this.#compression === "gzip") && this.serverInfo.gzip) {
      return "gzip";
    }
    return undefined;
  }
}
