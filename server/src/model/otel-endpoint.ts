import { OptionError } from "millrace/model";

/**
 * Checks the address of the receiver of the server's own spans. The address may not contain credentials, because
 * messages name it.
 *
 * @throws OptionError it is not an http or https URL, or contains a login, a query or a fragment.
 */
export function parseOtelEndpoint(endpoint: unknown): string {
  const url = typeof endpoint === "string" ? URL.parse(endpoint) : null;
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username + url.password + url.search + url.hash === "";
  if (!isPlain) {
    // The value is not shown, because it may contain a password.
    throw new OptionError(
      "otelEndpoint must be an http or https URL without a login and a query, such as http://collector:4318; /v1/traces is added to it. Keys of the receiver belong in OTEL_EXPORTER_OTLP_HEADERS",
    );
  }
  return url.href.replace(/\/+$/, "");
}
