/** Who wrote a version of a dataset. At least one member is not null. */
export interface VersionAuthor {
  /** The name that the user has entered in the UI. */
  readonly name: string | null;
  /** The name of the API key. */
  readonly keyName: string | null;
  /** The client that sent the request, such as `millrace 1.0.0` or `browser`, or the part of the server that wrote. */
  readonly client: string | null;
}

/**
 * The author of the write that is running. It is set before each write and, on SQLite, before each slice of a long
 * write, so that the many methods that write versions need no further argument.
 */
export class CurrentAuthor {
  /** `null` if the author is not known. */
  author: VersionAuthor | null = null;

  /** The author as the column `author_json` stores it. */
  toJson(): string | null {
    return this.author === null ? null : JSON.stringify(this.author);
  }
}

/** Parses the column `author_json`. It is null for versions that were written before authors were recorded. */
export const parseVersionAuthor = (json: string | null | undefined): VersionAuthor | null =>
  json === null || json === undefined ? null : (JSON.parse(json) as VersionAuthor);
