import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { permits } from "millrace/model";
import type { KeyScope } from "millrace/model";
import type { AuditActor, PendingAudit } from "../model/audit-entry.ts";
import type { RequestKey } from "../http/author.ts";
import { RequestError } from "../model/errors.ts";
import type { ServerSettings } from "../model/options.ts";
import type { TenantStore } from "./tenant-store.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Id of the calling tenant; empty on routes that need no key. */
    tenantId: string;
    /** The entry of the audit log, for requests of audited routes. */
    audit: PendingAudit | undefined;
  }
}

/** Who sends a request, and what its key permits. */
export interface Caller {
  readonly tenantId: string;
  readonly scopes: readonly KeyScope[];
  readonly actor: AuditActor;
  /** The key, if it was created on the server; `null` without a key, or with one from the server's configuration. */
  readonly apiKey: RequestKey | null;
  /** Whether the key belongs to one tenant, so that the request can't choose another one. */
  readonly isTenantFixed: boolean;
}

/** Determines the sender of a request, and its tenant, from its API key. */
export class KeyGuard {
  readonly #keyDigests: readonly Buffer[];
  readonly #store: TenantStore;

  constructor({ apiKeys }: Pick<ServerSettings, "apiKeys">, store: TenantStore) {
    this.#keyDigests = apiKeys.map(computeDigest);
    this.#store = store;
  }

  /**
   * Finds out who sends a request. Once any key exists, whether configured at the start of the server or created later,
   * every request needs a key.
   *
   * @throws RequestError 401: the key is missing or wrong.
   */
  async findCaller(headers: IncomingHttpHeaders): Promise<Caller> {
    const key = readKey(headers);
    if (!(await this.isKeyRequired())) {
      return {
        tenantId: await this.#chooseTenant(headers["x-tenant-id"]),
        scopes: ["admin"],
        actor: { kind: "open", id: null, name: null },
        apiKey: null,
        isTenantFixed: false,
      };
    }
    if (key === undefined) {
      throw new RequestError(
        401,
        "an API key is required: send x-api-key, or Authorization: Bearer",
      );
    }
    const position = this.#findConfigured(key);
    if (position !== undefined) {
      return {
        tenantId: this.#store.defaultTenantId,
        scopes: ["admin"],
        actor: { kind: "option", id: null, name: `configured key ${position}` },
        apiKey: null,
        isTenantFixed: true,
      };
    }
    const access = await this.#store.read.tenants.findByKey(key);
    if (access === undefined) {
      throw new RequestError(
        401,
        'the API key is unknown to this server: send one that it was started with, or create one with "millrace keys create"',
      );
    }
    const { id, name, tenantId, scopes } = access;
    return {
      tenantId,
      scopes,
      actor: { kind: "key", id, name },
      apiKey: { id, name },
      isTenantFixed: true,
    };
  }

  /**
   * Checks that a caller may send a request.
   *
   * @throws RequestError 403: `x-tenant-id` does not match the key's tenant, or the key lacks the scope.
   */
  assertPermitted(
    { tenantId, scopes, isTenantFixed }: Caller,
    headers: IncomingHttpHeaders,
    scope: KeyScope,
  ): void {
    const requestedTenant = headers["x-tenant-id"];
    if (
      isTenantFixed &&
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
  }

  /**
   * Checks that a request may be sent, and returns its tenant.
   *
   * @throws RequestError as {@link KeyGuard.findCaller} and {@link KeyGuard.assertPermitted}.
   */
  async checkKey(headers: IncomingHttpHeaders, scope: KeyScope): Promise<string> {
    const caller = await this.findCaller(headers);
    this.assertPermitted(caller, headers, scope);
    return caller.tenantId;
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
   * Returns the position of a key, from 1, among those that were configured at the start of the server; `undefined` if
   * it is not one of them. Digests have the same length, and the key is compared with all of them, so the duration
   * reveals nothing about a key.
   */
  #findConfigured(key: string): number | undefined {
    const keyDigest = computeDigest(key);
    const [position] = this.#keyDigests.flatMap((configuredDigest, index) =>
      timingSafeEqual(configuredDigest, keyDigest) ? [index + 1] : [],
    );
    return position;
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
