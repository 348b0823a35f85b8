/** Creates a zstd frame (RFC 8878, section 3.1) with uncompressed blocks of the text. */
export function zstdOf(text: string): Buffer {
  const content = Buffer.from(text);
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += 1_000) {
    const part = content.subarray(at, at + 1_000);
    const isLast = at + 1_000 >= content.length ? 1 : 0;
    const head = Buffer.alloc(3);
    head.writeUIntLE((part.length << 3) | isLast, 0, 3);
    blocks.push(head, part);
  }
  // Magic number; frame header descriptor 0; window of 1 MiB.
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50]), ...blocks]);
}
