// SQL for the size of a payload as it was sent. The column `parts` describes how a payload is composed of texts that it
// shares with other payloads; its first item is the size. The column is NULL for a payload that is stored as a whole.

/** SQL of SQLite for the size of the payload `p` in bytes. Its content is not read. */
export const payloadBytesSql =
  "CASE WHEN p.parts IS NULL THEN octet_length(p.body) ELSE p.parts ->> 0 END";

/** SQL of PostgreSQL for the size of a payload in bytes. Its content is not read. */
export const createPayloadBytesSql = (alias: string): string =>
  `(CASE WHEN ${alias}.parts IS NULL THEN octet_length(${alias}.body) ELSE (${alias}.parts::jsonb ->> 0)::int END)`;
