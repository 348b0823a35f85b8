/** Decodes a JSON string, given with its quotes. The grammar must have been checked. */
export function decodeText(raw: Buffer): string {
  const text = raw.toString("utf8", 1, raw.length - 1);
  return text.includes("\\") ? parseText(raw) : text;
}

const parseText = (raw: Buffer): string => {
  const value: unknown = JSON.parse(raw.toString("utf8"));
  return typeof value === "string" ? value : "";
};

const quote = 0x22;

/** Parses any JSON value. The grammar must have been checked. */
export function parseValue(raw: Buffer): unknown {
  const value: unknown = raw[0] === quote ? decodeText(raw) : JSON.parse(raw.toString("utf8"));
  return value;
}
