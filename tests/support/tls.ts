import { readFileSync } from "node:fs";

/** PEM text of a test certificate or key (tests/fixtures/tls/README.md). */
export const pem = (name: string): string =>
  readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");

/** The certificate authority that signed the certificates of test servers. */
export const ca = pem("ca.pem");

/** TLS options of a test server, with a certificate for localhost, runs.test, 127.0.0.1 and ::1. */
export const serverTls = { cert: pem("server.pem"), key: pem("server.key") };

/** TLS options of a test server that also requires a client certificate signed by the authority. */
export const mutualTls = { ...serverTls, ca, requestCert: true, rejectUnauthorized: true };

export const clientTls = { ca, cert: pem("client.pem"), key: pem("client.key") };
