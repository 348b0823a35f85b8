import type { KeyValues } from "../../model/run.ts";
import { isPlainObject } from "../tape/payload.ts";

/** What a run sends along with its place. */
export interface Baggage {
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly projectName: string | undefined;
}

/** Our keys; all other entries of the header are other vendors'. */
const keys = {
  metadata: "langsmith-metadata",
  tags: "langsmith-tags",
  project: "langsmith-project",
} as const;

/** Everything in the header that begins so is ours or our peers', and is replaced on the way out. */
const family = "langsmith-";

/** Longest value of one entry, read or written; the header as a whole is advised to stay below. */
const entryLimit = 8_192;

/**
 * Reads a `baggage` header. Entries of other vendors are skipped unread. A malformed entry of ours is passed to
 * `onMalformed` and skipped; the entries beside it are read.
 */
export function parseBaggage(header: string, onMalformed: (message: string) => void): Baggage {
  let tags: readonly string[] | undefined;
  let metadata: KeyValues | undefined;
  let projectName: string | undefined;
  for (const { key, value } of entries(header)) {
    if (!key.startsWith(family)) {
      continue;
    }
    const text = decode(value);
    if (text === undefined) {
      onMalformed(`The entry ${key} of a baggage header can't be decoded.`);
    } else if (key === keys.tags) {
      tags = text.split(",").filter(Boolean).map(unescapeTag);
    } else if (key === keys.project) {
      projectName = text;
    } else if (key === keys.metadata) {
      metadata = parseMetadata(text);
      if (metadata === undefined) {
        onMalformed(`The entry ${key} of a baggage header is no JSON object.`);
      }
    }
  }
  return { tags, metadata, projectName };
}

/**
 * Writes a `baggage` header: other vendors' entries of the one there is, as they are, then ours.
 * A value without text, or with too long a text, is passed to `onOmitted` and left out.
 */
export function formatBaggage(
  { tags, metadata, projectName }: Baggage,
  existing: string,
  onOmitted: (message: string) => void,
): string {
  const parts = entries(existing)
    .filter(({ key }) => !key.startsWith(family))
    .map(({ text }) => text);
  const add = (key: string, text: string | undefined): void => {
    const value = text === undefined ? undefined : encodeURIComponent(wellFormed(text));
    if (value === undefined || value.length > entryLimit) {
      onOmitted(`The entry ${key} of a baggage header was left out: too long, or no JSON.`);
    } else if (value !== "") {
      parts.push(`${key}=${value}`);
    }
  };
  if (metadata !== undefined) {
    add(keys.metadata, toJson(metadata));
  }
  if (tags !== undefined) {
    add(keys.tags, tags.filter(Boolean).map(escapeTag).join(","));
  }
  if (projectName !== undefined) {
    add(keys.project, projectName);
  }
  return parts.join(",");
}

function entries(header: string): { key: string; value: string; text: string }[] {
  return header.split(",").flatMap((part) => {
    const text = part.trim();
    const equals = text.indexOf("=");
    // A property after a semicolon belongs to the entry, not to its value.
    const value = equals < 0 ? "" : (text.slice(equals + 1).split(";", 1)[0] ?? "");
    const key = (equals < 0 ? text : text.slice(0, equals)).trim();
    return text === "" ? [] : [{ key, value: value.trim(), text }];
  });
}

// A comma parts tags for every reader, so that a comma in a tag is escaped once more, and so is
// the escape itself. Plain tags look the same to readers that know nothing of this.
const escapeTag = (tag: string): string => tag.replaceAll("%", "%25").replaceAll(",", "%2C");
const unescapeTag = (tag: string): string =>
  tag.replaceAll(/%(25|2C)/gi, (_, code: string) => (code === "25" ? "%" : ","));

const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, "\u{fffd}");

function decode(value: string): string | undefined {
  if (value.length > entryLimit) {
    return undefined;
  }
  try {
    return decodeURIComponent(value);
  } catch {
    // The caller counts it as malformed.
    return undefined;
  }
}

function parseMetadata(text: string): KeyValues | undefined {
  try {
    const metadata: unknown = JSON.parse(text);
    return isPlainObject(metadata) ? metadata : undefined;
  } catch {
    // The caller counts it as malformed.
    return undefined;
  }
}

function toJson(metadata: KeyValues): string | undefined {
  try {
    const json = JSON.stringify(metadata);
    return json === "{}" ? "" : json;
  } catch {
    // The caller counts it as left out.
    return undefined;
  }
}
