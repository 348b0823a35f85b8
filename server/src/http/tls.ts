import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Server } from "node:https";
import { messageOf, ServerError } from "../model/errors.ts";
import type { TlsFiles } from "../model/network-options.ts";

/** The certificate, the key and the settings of a TLS server. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: "TLSv1.2";
}

/**
 * Reads the certificate and its key.
 *
 * @throws ServerError a file can't be read, or the key does not belong to the certificate.
 */
export function readTlsContext({ certPath, keyPath }: TlsFiles): TlsContext {
  try {
    const context = {
      cert: readFileSync(certPath, "utf8"),
      key: readFileSync(keyPath, "utf8"),
      minVersion: "TLSv1.2",
    } as const;
    createSecureContext(context);
    return context;
  } catch (cause) {
    // The message of OpenSSL contains no part of the key.
    throw new ServerError(
      "TLS",
      `the certificate ${certPath} can't be used with the key ${keyPath}: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** Options of the reloader, which reads the certificate again when its files change. */
export interface ReloaderOptions {
  readonly files: TlsFiles;
  /** The certificate and key that the server uses now. */
  readonly current: TlsContext;
  /** Milliseconds between two checks whether the files have changed. @defaultValue 10,000 */
  readonly intervalMs?: number;
}

/** Milliseconds between two checks whether the files have changed. */
const checkIntervalMs = 10_000;

/**
 * Uses the certificate of changed files for new connections, so that a renewed certificate needs no restart. The files
 * are read again and compared: programs that renew certificates replace files, links or whole folders. While the files
 * can't be used, for example while only one of the two was replaced, the previous certificate stays in use.
 */
export class TlsReloader {
  readonly #server: Pick<Server, "setSecureContext">;
  readonly #files: TlsFiles;
  readonly #timer: NodeJS.Timeout;
  #current: TlsContext;
  #lastFailure = "";

  constructor(
    server: Pick<Server, "setSecureContext">,
    { files, current, intervalMs = checkIntervalMs }: ReloaderOptions,
  ) {
    this.#server = server;
    this.#files = files;
    this.#current = current;
    this.#timer = setInterval(() => this.#check(), intervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    try {
      const context = readTlsContext(this.#files);
      if (context.cert !== this.#current.cert || context.key !== this.#current.key) {
        this.#server.setSecureContext(context);
        this.#current = context;
      }
      this.#lastFailure = "";
    } catch (cause) {
      const failure = messageOf(cause);
      if (failure !== this.#lastFailure) {
        this.#lastFailure = failure;
        process.emitWarning(`${failure}. The server continues to use the previous certificate`);
      }
    }
  }
}
