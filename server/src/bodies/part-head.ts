import { parsePartLength } from "millrace/wire";

/** What the headers of a part say. */
export interface PartHead {
  readonly name: string;
  readonly contentType: string;
  /** Bytes of the part as announced. */
  readonly length: number | undefined;
  /** Why the part can't be taken, as far as its headers tell. */
  readonly fault: string | undefined;
}

/** What kind of bytes a part has: its content type without the length that it announces. */
export const mimeTypeOf = (contentType: string): string =>
  contentType.replace(/;\s*length=\d+/i, "");

/** No header has them (RFC 9110, section 5.5), and texts in the database end at a NUL. */
const controls = /[\0\r\n]/;

const namePattern = /(?:^|;)\s*name\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i;

/** The lines as our own client writes them, which most parts have: found in one go. */
const usualHead =
  /^Content-Disposition: form-data; name="([^"\0\r\n]*)"\r\nContent-Type: ([^;\0\r\n]+(?:; length=(\d{1,15}))?)(?:\r\nContent-Length: (\d{1,15}))?$/;

/** Reads the header lines of a part. Never throws: what is wrong becomes the part's fault. */
export function parsePartHead(text: string): PartHead {
  const usual = usualHead.exec(text);
  if (usual === null) {
    return parseLines(text);
  }
  const [, name = "", contentType = "", parameter, header] = usual;
  const length = parameter ?? header;
  return {
    name,
    contentType: contentType.trim(),
    length: length === undefined ? undefined : Number(length),
    fault: undefined,
  };
}

function parseLines(text: string): PartHead {
  let disposition: string | undefined;
  let contentType: string | undefined;
  let contentLength: string | undefined;
  let fault: string | undefined;
  for (const line of text.split("\r\n")) {
    fault ??= controls.test(line) ? "has a broken header line" : undefined;
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, Math.max(colon, 0)).toLowerCase()) {
      case "content-disposition":
        fault ??= disposition === undefined ? undefined : "has two Content-Disposition headers";
        disposition = value;
        break;
      case "content-type":
        contentType = value;
        break;
      case "content-length":
        contentLength = value;
        break;
      case "content-encoding":
        fault ??=
          value.toLowerCase() === "identity"
            ? undefined
            : "is compressed; only a whole body may be";
        break;
    }
  }
  const found = disposition === undefined ? null : namePattern.exec(disposition);
  const name = found?.[1] ?? found?.[2];
  return {
    name: name ?? "",
    contentType: contentType ?? "application/octet-stream",
    length: parsePartLength(contentType, contentLength),
    fault: fault ?? (name === undefined ? "has no name" : undefined),
  };
}
