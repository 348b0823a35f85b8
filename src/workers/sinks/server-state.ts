import { zstdCompressSync } from "./compression.ts";
import type { Compression, Connection } from "../../model/options/connection.ts";
import { isLoopback } from "../../model/options/connection.ts";
import { defaultServerInfo } from "../../model/resources/server-info.ts";
import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { FrameFormat } from "./frame.ts";
import type { ContentEncoding } from "../wire.ts";

type ServerAddress = Pick<Connection, "endpoint" | "compression" | "socketPath">;

/**
 * What a worker has found out about its server. It begins with the defaults of the wire, so that no run waits for
 * `/info`, and is updated from `/info`, from a 404 for a missing path, and from a 415.
 */
export class ServerState {
  info: ServerInfo = defaultServerInfo;
  /** Whether `/info` was requested with success: `info` holds its content, or the server has no `/info`. */
  known = false;
  #multipartMissing = false;
  #batchMissing = false;
  #encodingRefused = false;
  readonly #compression: Compression;
  readonly #onThisMachine: boolean;

  constructor({ endpoint, compression, socketPath }: ServerAddress) {
    this.#compression = compression;
    this.#onThisMachine = socketPath !== undefined || isLoopback(new URL(endpoint).hostname);
  }

  learn(info: ServerInfo): void {
    this.info = info;
    this.known = true;
  }

  /** How a batch is framed: in parts, one of small runs as one JSON object, where the server has both. */
  formatFor({ isSmall }: { readonly isSmall: boolean }): FrameFormat {
    const takesParts = this.info.multipart && !this.#multipartMissing;
    if (takesParts && (this.#batchMissing || !isSmall)) {
      return "multipart";
    }
    return this.#batchMissing ? "single" : "batch";
  }

  /** The server has no such path: the next format from now on. */
  miss(format: FrameFormat): void {
    this.#multipartMissing ||= format === "multipart";
    this.#batchMissing ||= format === "batch";
  }

  /** Not even the last format found its path: the address may be wrong for now; begin anew. */
  forgetMisses(): void {
    this.#multipartMissing = false;
    this.#batchMissing = false;
  }

  /** The server reads no compressed bodies after all: another one took its place, or it was set anew. */
  refuseEncoding(): void {
    this.#encodingRefused = true;
  }

  /** How bodies are compressed: only with an encoding that the server listed. */
  get encoding(): ContentEncoding | undefined {
    if (this.#encodingRefused) {
      return undefined;
    }
    const auto = this.#compression === "auto" && !this.#onThisMachine;
    if (
      (auto || this.#compression === "zstd") &&
      this.info.zstd &&
      zstdCompressSync !== undefined
    ) {
      return "zstd";
    }
    if ((auto || this.#compression === "gzip") && this.info.gzip) {
      return "gzip";
    }
    return undefined;
  }
}
