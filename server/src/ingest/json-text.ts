/** The text of a JSON string, its quotes included. The grammar was checked before. */
export function decodeText(raw: Buffer): string {
  const text = raw.toString("utf8", 1, raw.length - 1);
  return text.includes("\\") ? parseText(raw) : text;
}

const parseText = (raw: Buffer): string => {
  const value: unknown = JSON.parse(raw.toString("utf8"));
  return typeof value === "string" ? value : "";
};
