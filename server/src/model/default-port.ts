/** Default port of the local server. */
export const defaultPort = 1984;

/** Default time limit of one query, in milliseconds. */
export const defaultQueryTimeoutMs = 10_000;

/** Default number of model calls that a tenant may make in a minute. */
export const defaultModelRate = 60;

/** Default limit of the bytes of runs that wait in the ingest log. */
export const defaultLogBytes = 2_147_483_648;
/** Days for which entries of the audit log are kept, unless the option `auditDays` is set. */
export const defaultAuditDays = 365;
