/** What one check of `millrace doctor` came to. */
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
  /** `skipped`: it could not be made, because an earlier one failed or there is nothing to check. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** One line. Never holds a key. */
  readonly found: string;
  /** What to do about it; absent where there is nothing to do. */
  readonly todo?: string;
}

/** A text that came from elsewhere: it can't move the cursor, and is not longer than a line. */
export function shown(text: string, most = 200): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return plain.length > most ? `${plain.slice(0, most)}…` : plain;
}
