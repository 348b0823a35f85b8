/** Result of one check of `millrace doctor`. */
export interface Check {
  readonly name:
    | "endpoint"
    | "versions"
    | "proxy"
    | "dns"
    | "tls"
    | "server"
    | "key"
    | "clock"
    | "limits"
    | "spool"
    | "run";
  /** `skipped`: an earlier check failed, or there is nothing to check. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** The finding of the check, in one line. Never contains an API key. */
  readonly found: string;
  /** The action that the user should take; absent if none is needed. */
  readonly todo?: string;
}

/**
 * Makes text from another source safe to print: removes control characters, which could move the cursor, and
 * shortens it to `maxLength`.
 */
export function toPrintable(text: string, maxLength = 200): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}
