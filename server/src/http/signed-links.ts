import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";

/** A stored file that a signed URL refers to. */
export type FileTarget =
  | { readonly kind: "example"; readonly blob: number; readonly mimeType: string }
  | {
      readonly kind: "run";
      /** The tenant that owns the run; another tenant may have a run with the same ids. */
      readonly tenantId: string;
      readonly traceId: string;
      readonly runId: string;
      readonly name: string;
    };

interface SignedClaim {
  readonly target: FileTarget;
  readonly untilMs: number;
}

/** The data that any thread needs to sign URLs. It is plain data, so that it can be sent to another thread. */
export interface LinkSigner {
  readonly secret: Uint8Array;
  /** The beginning of the URLs, without a trailing slash. */
  readonly baseUrl: string;
}

/** Creates the URL of a file. */
export function createLink(
  { secret, baseUrl }: LinkSigner,
  target: FileTarget,
  nowMs: number = Date.now(),
): string {
  const claim: SignedClaim = { target, untilMs: nowMs + serverLimits.signedMs };
  const text = Buffer.from(JSON.stringify(claim)).toString("base64url");
  return `${baseUrl}/attachments?token=${text}.${sign(secret, text).toString("base64url")}`;
}

const sign = (secret: Uint8Array, text: string): Buffer =>
  createHmac("sha256", secret).update(text).digest();

/**
 * Creates signed URLs. Each URL gives access to one file, without a key, until it expires. The secret may be shared by
 * several servers. By default, it is random and is not stored, so URLs also become invalid when the process ends.
 */
export class SignedLinks {
  readonly #secret: Uint8Array;
  readonly #now: () => number;

  constructor(now: () => number = Date.now, secret: Uint8Array = randomBytes(32)) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Creates the URL of a file, on the host to which the request was sent. */
  createUrl(request: Pick<LinkSigner, "baseUrl">, target: FileTarget): string {
    return createLink(this.createSigner(request), target, this.#now());
  }

  /** Returns the data that another thread needs to create URLs on the host to which the request was sent. */
  createSigner({ baseUrl }: Pick<LinkSigner, "baseUrl">): LinkSigner {
    return { secret: this.#secret, baseUrl };
  }

  /**
   * Checks a token and returns the file to which it refers.
   *
   * @throws RequestError 404: this server did not sign the token. 403: it has expired.
   */
  readTarget(token: string): FileTarget {
    const [text = "", signature = ""] = token.split(".");
    const receivedSignature = Buffer.from(signature, "base64url");
    const expectedSignature = sign(this.#secret, text);
    if (
      receivedSignature.length !== expectedSignature.length ||
      !timingSafeEqual(receivedSignature, expectedSignature)
    ) {
      throw new RequestError(
        404,
        "there is no such attachment, or the server was restarted: read the run or example again to get a new URL",
      );
    }
    const { target, untilMs } = JSON.parse(
      Buffer.from(text, "base64url").toString(),
    ) as SignedClaim;
    if (untilMs < this.#now()) {
      throw new RequestError(
        403,
        "the URL has expired: read the run or example again to get a new one",
      );
    }
    return target;
  }
}

/** A store, together with the object that signs the URLs of files in responses. */
export interface WithLinks<Store> {
  readonly store: Store;
  readonly links: SignedLinks;
}
