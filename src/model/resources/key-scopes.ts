/** What an API key of the local server permits, from the least to the most. */
export const keyScopes = ["ingest", "read", "write", "admin"] as const;

/**
 * One permission of an API key.
 *
 * - `ingest`: send runs, spans and feedback; nothing can be read.
 * - `read`: read and query everything of the tenant.
 * - `write`: also create, change and delete; includes `ingest` and `read`.
 * - `admin`: also manage keys, tenants, prices and retention; includes the others.
 */
export type KeyScope = (typeof keyScopes)[number];

/** Whether a key with these scopes permits actions that need the scope `required`. */
export const permits = (scopes: readonly KeyScope[], required: KeyScope): boolean =>
  scopes.some(
    (scope) =>
      scope === required || scope === "admin" || (scope === "write" && required !== "admin"),
  );

/** Whether a value is one of {@link keyScopes}. */
export const isKeyScope = (value: unknown): value is KeyScope =>
  keyScopes.some((scope) => scope === value);
