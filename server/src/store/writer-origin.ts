import type { VersionAuthor } from "../datasets/version-author.ts";
import { nameClient, readAuthor } from "../http/author.ts";
import type { ScopedRequest } from "../http/request-scope.ts";
import type { AuditEntry, PendingAudit } from "../model/audit-entry.ts";
import type { Writers } from "./repositories.ts";

/** Who makes the writes of a scoped store. */
export interface WriterOrigin {
  /** Returns the author of dataset versions. It is called for each write that adds versions to datasets. */
  readonly findAuthor?: () => VersionAuthor | undefined;
  /** The entry of the audit log that is stored with the first successful write. */
  readonly audit?: PendingAudit;
}

/** Who makes a write. */
export interface WriteContext {
  /** The author of the versions that the write adds to datasets; absent if unknown. */
  readonly author?: VersionAuthor | undefined;
  /** The entry of the audit log that is stored with the write. */
  readonly audit?: AuditEntry | undefined;
}

/** The origin of a write that a request causes. */
export const originOfRequest = (request: ScopedRequest): WriterOrigin => ({
  findAuthor: () => toVersionAuthor(request),
  ...(request.audit && { audit: request.audit }),
});

/** The origin of a write that no request causes, such as a command; `client` names the program. */
export function originOfClient(client: string): WriterOrigin {
  const author = { name: null, keyName: null, client };
  return { findAuthor: () => author };
}

/**
 * Performs a write with the author and the audit log entry of its origin. If the write fails, the entry is stored with
 * a later write.
 */
export async function writeFrom(
  { findAuthor, audit }: WriterOrigin,
  resource: keyof Writers,
  write: (context: WriteContext) => Promise<unknown>,
): Promise<unknown> {
  const author = versionedResources.has(resource) ? findAuthor?.() : undefined;
  const result = await write({ author, audit: audit?.createEntry() });
  audit?.markStored();
  return result;
}

/** The resources whose writes add versions to datasets. */
const versionedResources: ReadonlySet<keyof Writers> = new Set<keyof Writers>([
  "datasets",
  "examples",
  "largeExamples",
  "uploads",
]);

function toVersionAuthor({
  headers = {},
  apiKey = null,
}: ScopedRequest): VersionAuthor | undefined {
  const { name, key } = readAuthor({ headers, apiKey });
  const client = nameClient(headers);
  return name === null && key === null && client === null
    ? undefined
    : { name, keyName: key?.name ?? null, client };
}
