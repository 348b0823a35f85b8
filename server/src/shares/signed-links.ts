import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

/** A stored file, as an address names it. */
export type FileTarget =
  | { readonly kind: "example"; readonly blob: number; readonly mimeType: string }
  | {
      readonly kind: "run";
      /** Whose run it is: another tenant's may have the same ids. */
      readonly tenantId: string;
      readonly traceId: string;
      readonly runId: string;
      readonly name: string;
    };

interface Claim {
  readonly target: FileTarget;
  readonly untilMs: number;
}

/**
 * Addresses that lead to one file each, without a key, until they expire. They are signed with a secret
 * that ends with the process, and so do they.
 */
export class SignedLinks {
  readonly #secret = randomBytes(32);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The address of the file, relative to the address of the request. */
  link({ protocol, host }: Pick<FastifyRequest, "protocol" | "host">, target: FileTarget): string {
    const claim: Claim = { target, untilMs: this.#now() + serverLimits.signedMs };
    const text = Buffer.from(JSON.stringify(claim)).toString("base64url");
    return `${protocol}://${host}/attachments?token=${text}.${this.#sign(text).toString("base64url")}`;
  }

  /** @throws RequestError 404: this server signed no such address. 403: it has expired. */
  open(token: string): FileTarget {
    const [text = "", signature = ""] = token.split(".");
    const given = Buffer.from(signature, "base64url");
    const own = this.#sign(text);
    if (given.length !== own.length || !timingSafeEqual(given, own)) {
      throw new RequestError(
        404,
        "there is no such attachment, or the server was started anew: read the run or example again for its address",
      );
    }
    const { target, untilMs } = JSON.parse(Buffer.from(text, "base64url").toString()) as Claim;
    if (untilMs < this.#now()) {
      throw new RequestError(403, "the address has expired; read the run or example again");
    }
    return target;
  }

  #sign(text: string): Buffer {
    return createHmac("sha256", this.#secret).update(text).digest();
  }
}

/** A store, and what signs the addresses of files in answers from it. */
export interface Linked<Store> {
  readonly store: Store;
  readonly links: SignedLinks;
}
