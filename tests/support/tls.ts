import { readFileSync } from "node:fs";

/** PEM text of a certificate or key for tests (tests/fixtures/tls/README.md). */
export const pem = (name: string): string =>
  readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");

/** The authority that the servers of tests are certified by. */
export const ca = pem("ca.pem");

/** What makes a test's server speak TLS, as localhost, runs.test, 127.0.0.1 and ::1. */
export const serverTls = { cert: pem("server.pem"), key: pem("server.key") };

/** The same, and it asks for a client certificate of the authority. */
export const mutualTls = { ...serverTls, ca, requestCert: true, rejectUnauthorized: true };

export const clientTls = { ca, cert: pem("client.pem"), key: pem("client.key") };
