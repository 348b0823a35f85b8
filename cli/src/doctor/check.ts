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
  /** `skipped` means that an earlier check failed, or that there is nothing to check. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** The finding of the check, in one line. Never contains an API key. */
  readonly found: string;
  /** The action that the user should take; absent if none is needed. */
  readonly todo?: string;
}
