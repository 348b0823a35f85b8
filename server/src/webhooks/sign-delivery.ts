import { createHmac, randomBytes } from "node:crypto";

const secretPrefix = "whsec_";
const secretBytes = 32;

/** Creates the secret of a webhook, in the form of Standard Webhooks. */
export const createWebhookSecret = (): string =>
  `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`;

/** What a delivery's headers are computed from. */
export interface SignedDelivery {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Creates the headers by which a receiver verifies a delivery, as Standard Webhooks defines them: the signature is the
 * HMAC-SHA256 of id, timestamp and body. With several secrets, there is a signature for each: a receiver accepts a
 * delivery if it can verify one of them.
 */
export function createWebhookHeaders(
  secrets: readonly string[],
  { id, timestamp, body }: SignedDelivery,
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return {
    "content-type": "application/json",
    "user-agent": "millrace-webhooks",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
