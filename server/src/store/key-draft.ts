import type { KeyScope } from "millrace/model";
import type { ApiKey } from "../tenants/tenant.ts";

/** An API key with the handle of its tenant. The secret itself is not stored. */
export interface ListedKey extends ApiKey {
  /** Handle of the tenant; `null` if it has none yet. */
  readonly tenantHandle: string | null;
}

/** An API key that is to be created. */
export interface KeyDraft {
  /** Describes what the key is for. @defaultValue "" */
  readonly name?: string;
  /**
   * Handle of the tenant that the key gives access to; the tenant is created if it does not exist. @defaultValue the
   * default tenant, which serves requests without a key
   */
  readonly tenant?: string;
  /** What the key permits. @defaultValue `["admin"]`, which includes the others */
  readonly scopes?: readonly KeyScope[];
}
