/** Default port of the local server. */
export const defaultPort = 1984;

/** Default time limit of one query, in milliseconds. */
export const defaultQueryTimeoutMs = 10_000;

/** Default number of calls of models that a tenant may make in a minute. */
export const defaultModelRate = 60;

/** Bytes of runs that may wait in the ingest log by default. */
export const defaultLogBytes = 2_147_483_648;
/** Days for which entries of the audit log are kept, unless the option `auditDays` is set. */
export const defaultAuditDays = 365;
