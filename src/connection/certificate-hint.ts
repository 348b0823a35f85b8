const otherName = "The certificate is made out to another name than the endpoint's.";
const untrusted = "The server's certificate can't be trusted; pass its authority as the option ca.";
const outOfDate = "The server's certificate is out of date.";
const clientWanted =
  "The server does not accept our certificate, or the lack of one; pass the options cert and key.";
const unreadable =
  "The option ca, cert or key is no PEM text that can be read, or the key is not the certificate's.";

/** By the codes of Node and OpenSSL. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/^(?:ERR_TLS_CERT_ALTNAME|HOSTNAME_MISMATCH)/, otherName],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, outOfDate],
  [/^ERR_OSSL_/, unreadable],
  [/^ERR_SSL_.*ALERT.*(?:CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE)/, clientWanted],
  [
    /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/,
    untrusted,
  ],
];

/** What to do about a failure whose code speaks of certificates; `undefined` for other codes. */
export const certificateHint = (code: string): string | undefined =>
  hints.find(([pattern]) => pattern.test(code))?.[1];
