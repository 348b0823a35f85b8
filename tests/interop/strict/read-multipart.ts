/** One part of a multipart body: the values of its headers, and its bytes. */
export interface Part {
  readonly name: string;
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  /** The declared length: the parameter `length`, or the part's own Content-Length. */
  readonly length: number | undefined;
  readonly bytes: Buffer;
}

export interface PartProblem {
  readonly rule: "boundary" | "part-head";
  readonly detail: string;
}

export interface Parts {
  readonly parts: readonly Part[];
  readonly problems: readonly PartProblem[];
}

const boundaryPattern = /^multipart\/form-data;\s*boundary="?([\w'()+,./:=?-]{1,70})"?$/;

/**
 * Splits a body at its delimiters, as RFC 2046 defines. It shares no code with the parsers under test, and does not use
 * the declared lengths of parts.
 */
export function readMultipart(contentType: string, body: Buffer): Parts {
  const boundary = boundaryPattern.exec(contentType)?.[1];
  if (boundary === undefined) {
    return { parts: [], problems: [{ rule: "boundary", detail: `none in ${contentType}` }] };
  }
  const delimiter = Buffer.from(`--${boundary}`);
  const problems: PartProblem[] = [];
  const parts: Part[] = [];
  if (!body.subarray(0, delimiter.length).equals(delimiter)) {
    return { parts, problems: [{ rule: "boundary", detail: "the body does not begin with it" }] };
  }
  let at = delimiter.length;
  const next = Buffer.from(`\r\n--${boundary}`);
  while (body.toString("latin1", at, at + 2) === "\r\n") {
    const end = body.indexOf(next, at + 2);
    if (end === -1) {
      break;
    }
    const part = readPart(body.subarray(at + 2, end));
    if ("rule" in part) {
      problems.push(part);
    } else {
      parts.push(part);
    }
    at = end + next.length;
  }
  const remaining = body.toString("latin1", at);
  if (remaining !== "--" && remaining !== "--\r\n") {
    problems.push({ rule: "boundary", detail: "the body does not end with it" });
  }
  return { parts, problems };
}

const headPatterns = {
  disposition: /^content-disposition:\s*form-data;\s*name="([^"]*)"(?:;\s*filename="([^"]*)")?$/i,
  type: /^content-type:\s*(.+)$/i,
  length: /^content-length:\s*(\d+)$/i,
};

function readPart(bytes: Buffer): Part | PartProblem {
  const headEnd = bytes.indexOf("\r\n\r\n");
  const lines = bytes.toString("utf8", 0, Math.max(headEnd, 0)).split("\r\n");
  const matches = (pattern: RegExp): readonly (string | undefined)[] =>
    lines.flatMap((line) => [pattern.exec(line)?.slice(1) ?? []]).flat();
  const [name, filename] = matches(headPatterns.disposition);
  const isKnown = lines.every((line) =>
    Object.values(headPatterns).some((pattern) => pattern.test(line)),
  );
  if (headEnd === -1 || name === undefined || !isKnown) {
    return { rule: "part-head", detail: JSON.stringify(lines.join("\r\n").slice(0, 200)) };
  }
  const [contentType] = matches(headPatterns.type);
  const [ownLength] = matches(headPatterns.length);
  const length = /;\s*length="?(\d+)"?/i.exec(contentType ?? "")?.[1] ?? ownLength;
  return {
    name,
    filename,
    contentType,
    length: length === undefined ? undefined : Number(length),
    bytes: bytes.subarray(headEnd + 4),
  };
}
