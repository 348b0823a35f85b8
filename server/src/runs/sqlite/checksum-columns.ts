/** Checksums of what is stored as it was received; null in rows from before. */
export const checksumColumns = `
  ALTER TABLE payloads ADD COLUMN checksum INTEGER;
  ALTER TABLE attachments ADD COLUMN checksum INTEGER;
  ALTER TABLE example_blobs ADD COLUMN checksum INTEGER;
`;
