import { toRecord, toText } from "../../api/parse.ts";

/** Who wrote a version of a dataset. Members that are not known are empty. */
export interface VersionAuthor {
  /** The name that a person has chosen. */
  readonly name: string;
  /** The name of the API key. */
  readonly keyName: string;
  /** The program, such as `millrace 1.0.0`, or the part of the server. */
  readonly client: string;
}

/** Returns `undefined` if the author is not known: the version is older than the record of authors. */
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

/** Names of clients that are no programs of users. */
const clientNames: Readonly<Record<string, string>> = {
  browser: "Browser",
  rule: "Rule",
  job: "Job",
};

const nameClient = (client: string): string => clientNames[client] ?? client;

/** The author in as few words as possible: the person, or else the key, or else the program. */
export const nameVersionAuthor = (author: VersionAuthor | undefined): string =>
  author === undefined
    ? "Unknown"
    : ([author.name, author.keyName, nameClient(author.client)].find((name) => name !== "") ??
      "Unknown");

/** All that is known about the author. */
export function describeVersionAuthor(author: VersionAuthor | undefined): string {
  if (author === undefined) {
    return "The version was written before authors were recorded";
  }
  const { name, keyName, client } = author;
  return [
    ...(name === "" ? [] : [name]),
    ...(keyName === "" ? [] : [`API key ${keyName}`]),
    ...(client === "" ? [] : [nameClient(client)]),
  ].join(", ");
}
