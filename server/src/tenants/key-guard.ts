import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { RequestError } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";
import type { TenantStore } from "./tenant-store.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whom the request is of; empty where no key is asked for. */
    tenantId: string;
  }
}

/** Decides whose a request is, by its key. */
export class KeyGuard {
  readonly #keyDigests: readonly Buffer[];
  readonly #store: TenantStore;

  constructor({ apiKeys }: Pick<ServerSettings, "apiKeys">, store: TenantStore) {
    this.#keyDigests = apiKeys.map(digest);
    this.#store = store;
  }

  /**
   * The tenant of the caller. Once a key exists, from the start options or created here, requests need one.
   *
   * @throws RequestError 401: no key, or a wrong one. 403: `x-tenant-id` is not the key's tenant.
   */
  async checkKey(headers: IncomingHttpHeaders): Promise<string> {
    const key = keyOf(headers);
    const named = headers["x-tenant-id"];
    if (!(await this.isNeeded())) {
      return this.#chooseTenant(named);
    }
    if (key === undefined) {
      throw new RequestError(401, "an API key is needed: send x-api-key, or Authorization: Bearer");
    }
    const tenantId = this.#isGiven(key)
      ? this.#store.defaultTenantId
      : await this.#store.read.tenants.findByKey(key);
    if (tenantId === undefined) {
      throw new RequestError(
        401,
        'the API key is not one of this server\'s: send one that it was started with, or make one with "millrace keys create"',
      );
    }
    if (typeof named === "string" && named !== "" && named.toLowerCase() !== tenantId) {
      throw new RequestError(
        403,
        "x-tenant-id is not the tenant of this API key: leave it out, or send a key of that tenant",
      );
    }
    return tenantId;
  }

  /** Whether requests need a key. */
  async isNeeded(): Promise<boolean> {
    return this.#keyDigests.length > 0 || this.#store.read.tenants.hasKeys();
  }

  /** Without keys everyone may do all, so a name is taken as it is, where there is such a tenant. */
  async #chooseTenant(named: string | string[] | undefined): Promise<string> {
    const known =
      typeof named === "string" && named !== ""
        ? await this.#store.read.tenants.find(named.toLowerCase())
        : undefined;
    return known?.id ?? this.#store.defaultTenantId;
  }

  /** Digests have one length, and all are compared, so the time reveals nothing about a key. */
  #isGiven(key: string): boolean {
    const given = digest(key);
    return this.#keyDigests.filter((known) => timingSafeEqual(known, given)).length > 0;
  }
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["x-api-key"];
  if (typeof key === "string" && key !== "") {
    return key;
  }
  return /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
}
