import type { KeyValues } from "../../model/run.ts";
import { isPlainObject } from "../tape/payload.ts";

/**
 * Attributes of a run that request headers carry to another process, in addition to the run's position in its trace.
 */
export interface Baggage {
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly projectName: string | undefined;
}

/** Keys of the entries in a `baggage` header that this SDK reads and writes. LangSmith's SDKs use the same keys. */
const entryKeys = {
  metadata: "langsmith-metadata",
  tags: "langsmith-tags",
  project: "langsmith-project",
} as const;

/**
 * Entries whose key has this prefix are replaced when a header is written. All other entries belong to other vendors.
 */
const ownKeyPrefix = "langsmith-";

/** Longest value of one entry, in characters. The W3C specification only guarantees 8,192 bytes for a whole header. */
const maxEntryLength = 8_192;

/**
 * Reads a `baggage` header. Entries of other vendors are ignored. A malformed entry with a key that this SDK reads is
 * reported to `onMalformed` and skipped; the other entries are still read.
 */
export function parseBaggage(header: string, onMalformed: (message: string) => void): Baggage {
  let tags: readonly string[] | undefined;
  let metadata: KeyValues | undefined;
  let projectName: string | undefined;
  for (const { key, value } of parseEntries(header)) {
    if (!key.startsWith(ownKeyPrefix)) {
      continue;
    }
    const text = decode(value);
    if (text === undefined) {
      onMalformed(`The entry ${key} of a baggage header can't be decoded, or is too long.`);
    } else if (key === entryKeys.tags) {
      tags = text.split(",").filter(Boolean).map(unescapeTag);
    } else if (key === entryKeys.project) {
      projectName = text;
    } else if (key === entryKeys.metadata) {
      metadata = parseMetadata(text);
      if (metadata === undefined) {
        onMalformed(`The entry ${key} of a baggage header is not a JSON object.`);
      }
    }
  }
  return { tags, metadata, projectName };
}

/**
 * Writes a `baggage` header: first the entries of other vendors in `existing`, unchanged, then those of this run. A
 * value that is too long or can't be written as JSON is left out and reported to `onOmitted`.
 */
export function formatBaggage(
  { tags, metadata, projectName }: Baggage,
  existing: string,
  onOmitted: (message: string) => void,
): string {
  const parts = parseEntries(existing)
    .filter(({ key }) => !key.startsWith(ownKeyPrefix))
    .map(({ text }) => text);
  const add = (key: string, text: string | undefined): void => {
    const value = text === undefined ? undefined : encodeURIComponent(replaceSurrogates(text));
    if (value === undefined || value.length > maxEntryLength) {
      onOmitted(
        `The entry ${key} of a baggage header was left out: it is too long or can't be written as JSON.`,
      );
    } else if (value !== "") {
      parts.push(`${key}=${value}`);
    }
  };
  if (metadata !== undefined) {
    add(entryKeys.metadata, toJson(metadata));
  }
  if (tags !== undefined) {
    add(entryKeys.tags, tags.filter(Boolean).map(escapeTag).join(","));
  }
  if (projectName !== undefined) {
    add(entryKeys.project, projectName);
  }
  return parts.join(",");
}

function parseEntries(header: string): { key: string; value: string; text: string }[] {
  return header.split(",").flatMap((part) => {
    const text = part.trim();
    const equalsIndex = text.indexOf("=");
    // A property after a semicolon belongs to the entry, not to its value.
    const value = equalsIndex < 0 ? "" : (text.slice(equalsIndex + 1).split(";", 1)[0] ?? "");
    const key = (equalsIndex < 0 ? text : text.slice(0, equalsIndex)).trim();
    return text === "" ? [] : [{ key, value: value.trim(), text }];
  });
}

// Every reader of the header splits the list of tags at commas. So a comma inside a tag is escaped, and so is the
// percent sign that escapes it. A reader that does not support this escape still reads all other tags correctly.
const escapeTag = (tag: string): string => tag.replaceAll("%", "%25").replaceAll(",", "%2C");
const unescapeTag = (tag: string): string =>
  tag.replaceAll(/%(25|2C)/gi, (_, code: string) => (code === "25" ? "%" : ","));

const replaceSurrogates = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, "\u{fffd}");

function decode(value: string): string | undefined {
  if (value.length > maxEntryLength) {
    return undefined;
  }
  try {
    return decodeURIComponent(value);
  } catch {
    // The caller reports the entry as malformed.
    return undefined;
  }
}

function parseMetadata(text: string): KeyValues | undefined {
  try {
    const metadata: unknown = JSON.parse(text);
    return isPlainObject(metadata) ? metadata : undefined;
  } catch {
    // The caller reports the entry as malformed.
    return undefined;
  }
}

function toJson(metadata: KeyValues): string | undefined {
  try {
    const json = JSON.stringify(metadata);
    return json === "{}" ? "" : json;
  } catch {
    // The caller reports the entry as left out.
    return undefined;
  }
}
