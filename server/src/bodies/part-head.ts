import { parsePartLength } from "millrace/wire";

/** The parsed headers of a part. */
export interface PartHead {
  readonly name: string;
  readonly contentType: string;
  /** The announced length of the part in bytes. */
  readonly length: number | undefined;
  /** Why the part is invalid, if its headers show that. */
  readonly fault: string | undefined;
}

/** Returns the media type of a part: its content type without the length parameter. */
export const toMimeType = (contentType: string): string =>
  contentType.replace(/;\s*length=\d+/i, "");

/**
 * Matches characters that headers must not contain (RFC 9110, section 5.5). The database would also cut a name off at
 * a NUL.
 */
const forbiddenCharacters = /[\0\r\n]/;

const namePattern = /(?:^|;)\s*name\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i;

/**
 * Matches the headers as the Millrace SDK writes them. Most parts have this form, and one match parses all of the
 * headers.
 */
const sdkHeadPattern =
  /^Content-Disposition: form-data; name="([^"\0\r\n]*)"\r\nContent-Type: ([^;\0\r\n]+(?:; length=(\d{1,15}))?)(?:\r\nContent-Length: (\d{1,15}))?$/;

/** Parses the header lines of a part. Never throws: an error becomes the part's fault. */
export function parsePartHead(text: string): PartHead {
  const sdkHead = sdkHeadPattern.exec(text);
  if (sdkHead === null) {
    return parseHeaderLines(text);
  }
  const [, name = "", contentType = "", lengthParameter, contentLengthHeader] = sdkHead;
  const length = lengthParameter ?? contentLengthHeader;
  return {
    name,
    contentType: contentType.trim(),
    length: length === undefined ? undefined : Number(length),
    fault: undefined,
  };
}

function parseHeaderLines(text: string): PartHead {
  let disposition: string | undefined;
  let contentType: string | undefined;
  let contentLength: string | undefined;
  let fault: string | undefined;
  for (const line of text.split("\r\n")) {
    fault ??= forbiddenCharacters.test(line)
      ? "has a header line with a NUL, CR or LF character"
      : undefined;
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
            : "is compressed; only a whole body may be compressed";
        break;
    }
  }
  const nameMatch = disposition === undefined ? null : namePattern.exec(disposition);
  const name = nameMatch?.[1] ?? nameMatch?.[2];
  return {
    name: name ?? "",
    contentType: contentType ?? "application/octet-stream",
    length: parsePartLength(contentType, contentLength),
    fault: fault ?? (name === undefined ? "has no name" : undefined),
  };
}
