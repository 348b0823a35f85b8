/** Whom rows belong to. */
export interface Tenant {
  readonly id: string;
  /** The name that its public prompts stand under; `null` until it has one. */
  readonly handle: string | null;
  readonly displayName: string;
  /** Microseconds since the Unix epoch. */
  readonly createdMicros: number;
}

/** A key, without the key: what is kept of it can't be turned back. */
export interface ApiKey {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  /** The last characters of the key, to tell one from another. */
  readonly hint: string;
  readonly createdMicros: number;
  /** `null` while it is let in. */
  readonly revokedMicros: number | null;
}

export interface TenantDraft {
  readonly handle: string | null;
  readonly displayName: string;
}

/** A key as it is made: in clear this once. */
export interface NewKey {
  readonly id: string;
  readonly key: string;
}

export interface TenantReads {
  find(id: string): Tenant | undefined;
  findByHandle(handle: string): Tenant | undefined;
  /** By creation. */
  list(): readonly Tenant[];
  /** The tenant that a key lets in; `undefined` where there is no such key, or it was revoked. */
  findByKey(key: string): string | undefined;
  /** Whether a key was ever made here. From then on one is needed, even if all were revoked. */
  hasKeys(): boolean;
  /** By creation, revoked ones too; of all tenants where none is named. */
  listKeys(tenantId?: string): readonly ApiKey[];
}

export interface TenantWrites {
  /** @throws RequestError 422: the handle is malformed. 409: another tenant has it. */
  create(draft: TenantDraft): Tenant;
  /** @throws RequestError as {@link TenantWrites.create}. */
  setHandle(id: string, handle: string): Tenant;
  /** @throws RequestError 404: no such tenant. */
  createKey(tenantId: string, draft: { readonly name: string }): NewKey;
  /** Repeated, it changes nothing. @throws RequestError 404: no such key. */
  revokeKey(id: string): ApiKey;
}
