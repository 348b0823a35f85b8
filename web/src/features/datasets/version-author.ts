import { toRecord, toText } from "../../api/parse.ts";

/** The author of a version of a dataset. An empty member means that it is not known. */
export interface VersionAuthor {
  /** The name that a person has chosen. */
  readonly name: string;
  /** The name of the API key. */
  readonly keyName: string;
  /** The program, such as `millrace 1.0.0`, or the part of the server that wrote the version. */
  readonly client: string;
}

/**
 * Returns `undefined` if the author is not known, because the version was written before the server recorded authors.
 */
export function parseVersionAuthor(value: unknown): VersionAuthor | undefined {
  if (value === null || value === undefined) {
    return undefined;
  }
  const author = toRecord(value);
  return {
    name: toText(author["name"]) ?? "",
    keyName: toText(author["key_name"]) ?? "",
    client: toText(author["client"]) ?? "",
  };
}

/** The names that are shown for clients that are part of Millrace, and not a user's program. */
const clientNames: Readonly<Record<string, string>> = {
  browser: "Browser",
  rule: "Rule",
  job: "Job",
};

const getClientName = (client: string): string => clientNames[client] ?? client;

/** Returns a short name of the author: the name of the person, or else of the API key, or else of the program. */
export const getVersionAuthorName = (author: VersionAuthor | undefined): string =>
  author === undefined
    ? "Unknown"
    : ([author.name, author.keyName, getClientName(author.client)].find((name) => name !== "") ??
      "Unknown");

/** Describes the author completely: the person, the API key and the program, as far as they are known. */
export function describeVersionAuthor(author: VersionAuthor | undefined): string {
  if (author === undefined) {
    return "The version was written before authors were recorded";
  }
  const { name, keyName, client } = author;
  return [
    ...(name === "" ? [] : [name]),
    ...(keyName === "" ? [] : [`API key ${keyName}`]),
    ...(client === "" ? [] : [getClientName(client)]),
  ].join(", ");
}
