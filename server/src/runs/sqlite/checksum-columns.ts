/**
 * SQL that adds checksums to the tables whose data is stored as received. The checksum is null in rows that were
 * stored before these columns existed.
 */
export const checksumColumns = `
  ALTER TABLE payloads ADD COLUMN checksum INTEGER;
  ALTER TABLE attachments ADD COLUMN checksum INTEGER;
  ALTER TABLE example_blobs ADD COLUMN checksum INTEGER;
`;
