import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { permits } from "millrace/model";
import type { KeyScope } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";
import type { TenantStore } from "./tenant-store.ts";
import type { RequestKey } from "../http/author.ts";
import type { KeyAccess } from "./tenant.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Id of the calling tenant; empty on routes that need no key. */
    tenantId: string;
  }
}

/** What a request has access to, and with which key; `null` without a key, or with one of the server's configuration. */
export interface RequestAccess {
  readonly tenantId: string;
  readonly apiKey: RequestKey | null;
}

/** Determines the tenant of a request from its API key. */
export class KeyGuard {
  readonly #keyDigests: readonly Buffer[];
  readonly #store: TenantStore;

  constructor({ apiKeys }: Pick<ServerSettings, "apiKeys">, store: TenantStore) {
    this.#keyDigests = apiKeys.map(computeDigest);
    this.#store = store;
  }

  /**
   * Returns the tenant of the client and its key. Once any key exists, whether configured at the start of the server or created
   * later, every request needs a key, which must permit what needs `scope`.
   *
   * @throws RequestError 401: the key is missing or wrong. 403: `x-tenant-id` does not match the key's tenant, or the
   * key does not permit it.
   */
  async checkKey(headers: IncomingHttpHeaders, scope: KeyScope): Promise<RequestAccess> {
    const key = readKey(headers);
    const requestedTenant = headers["x-tenant-id"];
    if (!(await this.isKeyRequired())) {
      return { tenantId: await this.#chooseTenant(requestedTenant), apiKey: null };
    }
    if (key === undefined) {
      throw new RequestError(
        401,
        "an API key is required: send x-api-key, or Authorization: Bearer",
      );
    }
    const access: KeyAccess | undefined = this.#isConfigured(key)
      ? { tenantId: this.#store.defaultTenantId, scopes: ["admin"], key: null }
      : await this.#store.read.tenants.findByKey(key);
    if (access === undefined) {
      throw new RequestError(
        401,
        'the API key is unknown to this server: send one that it was started with, or create one with "millrace keys create"',
      );
    }
    const { tenantId, scopes, key: apiKey } = access;
    if (
      typeof requestedTenant === "string" &&
      requestedTenant !== "" &&
      requestedTenant.toLowerCase() !== tenantId
    ) {
      throw new RequestError(
        403,
        "x-tenant-id is not the tenant of this API key: remove it, or send a key of that tenant",
      );
    }
    if (!permits(scopes, scope)) {
      throw new RequestError(
        403,
        `this request needs an API key with the scope ${scope}, and the key has ${scopes.join(", ") || "none"}: use another key, or create one with "millrace keys create --scope ${scope}"`,
      );
    }
    return { tenantId, apiKey };
  }

  /** Whether requests need a key. */
  async isKeyRequired(): Promise<boolean> {
    return this.#keyDigests.length > 0 || this.#store.read.tenants.hasKeys();
  }

  /**
   * Returns the tenant of a request while no keys exist. Everyone then has full access, so the tenant that the
   * request names is used if it exists.
   */
  async #chooseTenant(tenantHeader: string | string[] | undefined): Promise<string> {
    const tenant =
      typeof tenantHeader === "string" && tenantHeader !== ""
        ? await this.#store.read.tenants.find(tenantHeader.toLowerCase())
        : undefined;
    return tenant?.id ?? this.#store.defaultTenantId;
  }

  /**
   * Whether a key was configured at the start of the server. Digests have the same length, and the key is compared
   * with all of them, so the duration reveals nothing about a key.
   */
  #isConfigured(key: string): boolean {
    const keyDigest = computeDigest(key);
    return (
      this.#keyDigests.filter((configuredDigest) => timingSafeEqual(configuredDigest, keyDigest))
        .length > 0
    );
  }
}

const computeDigest = (key: string): Buffer => createHash("sha256").update(key).digest();

function readKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["x-api-key"];
  if (typeof key === "string" && key !== "") {
    return key;
  }
  return /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}
