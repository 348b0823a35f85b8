import type { KeyScope } from "millrace/model";

/** A tenant, to which projects, runs and all other rows belong. */
export interface Tenant {
  readonly id: string;
  /** The name by which the tenant's public prompts are addressed; `null` until one is set. */
  readonly handle: string | null;
  readonly displayName: string;
  /** Microseconds since the Unix epoch. */
  readonly createdMicros: number;
}

/** A stored API key without its secret, which the server does not store. */
export interface ApiKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The last characters of the key, by which people can distinguish keys. */
  readonly hint: string;
  readonly createdMicros: number;
  /** When the key was revoked; `null` while it is valid. */
  readonly revokedMicros: number | null;
  readonly scopes: readonly KeyScope[];
}

/** A key, and what it gives access to. */
export interface KeyAccess {
  readonly id: string;
  readonly name: string;
  readonly tenantId: string;
  readonly scopes: readonly KeyScope[];
}

/** An API key that is to be created. */
export interface ApiKeyDraft {
  readonly name: string;
  /** @defaultValue `["admin"]`, which includes the others */
  readonly scopes?: readonly KeyScope[] | undefined;
}

/** A tenant that is to be created. */
export interface TenantDraft {
  readonly handle: string | null;
  readonly displayName: string;
}

/** A new API key. It is returned in plain text only when it is created. */
export interface NewKey {
  readonly id: string;
  readonly key: string;
}

/** Reads tenants and their API keys. */
export interface TenantReads {
  find(id: string): Promise<Tenant | undefined>;
  findByHandle(handle: string): Promise<Tenant | undefined>;
  /** Lists all tenants in the order of creation. */
  list(): Promise<readonly Tenant[]>;
  /** Finds what a key gives access to; `undefined` if the key does not exist or was revoked. */
  findByKey(key: string): Promise<KeyAccess | undefined>;
  /** Whether a key was ever created. From then on each request needs a key, even if all keys were revoked. */
  hasKeys(): Promise<boolean>;
  /** Lists the keys of a tenant, or of all tenants, in the order of creation, including revoked keys. */
  listKeys(tenantId?: string): Promise<readonly ApiKey[]>;
}

/** Creates and changes tenants and their API keys. */
export interface TenantWrites {
  /**
   * Creates a tenant.
   *
   * @throws RequestError 422: the handle is malformed. 409: another tenant has it.
   */
  create(draft: TenantDraft): Promise<Tenant>;
  /**
   * Sets the handle of a tenant.
   *
   * @throws RequestError as {@link TenantWrites.create}.
   */
  setHandle(id: string, handle: string): Promise<Tenant>;
  /**
   * Creates a key.
   *
   * @throws RequestError 404: no such tenant. 422: no scope, or an unknown one.
   */
  createKey(tenantId: string, draft: ApiKeyDraft): Promise<NewKey>;
  /**
   * Revokes a key; repeating the call changes nothing.
   *
   * @throws RequestError 404: no such key.
   */
  revokeKey(id: string): Promise<ApiKey>;
}
