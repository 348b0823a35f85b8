import { createHash } from "node:crypto";

/** Milliseconds after which a key that was entered in the UI is forgotten. */
export const sessionKeyMs = 8 * 3_600_000;
/** Maximum number of keys that are held at the same time, in total and for one tenant. */
const maxKeys = 2_000;
const maxKeysOfTenant = 200;

/** Identifies a key: the tenant and the browser tab in which it was entered, and the endpoint that it is for. */
export interface KeyHolder {
  readonly tenantId: string;
  /** A random text of one browser tab, which nobody else knows. */
  readonly session: string;
  readonly endpointName: string;
}

interface HeldKey {
  readonly tenantId: string;
  readonly key: string;
  readonly expiresMs: number;
}

/**
 * Holds the keys that users entered in the UI: in memory only, each for one endpoint, one tenant and one session, until
 * it expires.
 */
export class ModelKeys {
  /** By a digest of the holder, in the order in which the keys were entered. */
  readonly #keys = new Map<string, HeldKey>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Holds a key. If there are too many, the oldest one of the tenant, or of all tenants, is forgotten. */
  set(holder: KeyHolder, key: string): void {
    this.#removeExpired();
    const id = toId(holder);
    this.#keys.delete(id);
    const { tenantId } = holder;
    const tenantKeys = [...this.#keys].filter(([, held]) => held.tenantId === tenantId);
    if (tenantKeys.length >= maxKeysOfTenant || this.#keys.size >= maxKeys) {
      const oldest = tenantKeys.length >= maxKeysOfTenant ? tenantKeys[0] : [...this.#keys][0];
      this.#keys.delete(oldest?.[0] ?? "");
    }
    this.#keys.set(id, { tenantId, key, expiresMs: this.#now() + sessionKeyMs });
  }

  find(holder: KeyHolder): string | undefined {
    this.#removeExpired();
    return this.#keys.get(toId(holder))?.key;
  }

  /** Returns when the key of a holder expires, in milliseconds since the epoch; `undefined` if no key is held. */
  findExpiry(holder: KeyHolder): number | undefined {
    this.#removeExpired();
    return this.#keys.get(toId(holder))?.expiresMs;
  }

  delete(holder: KeyHolder): void {
    this.#keys.delete(toId(holder));
  }

  #removeExpired(): void {
    const now = this.#now();
    for (const [id, { expiresMs }] of this.#keys) {
      if (expiresMs > now) {
        break; // Later keys expire later.
      }
      this.#keys.delete(id);
    }
  }
}

const toId = ({ tenantId, session, endpointName }: KeyHolder): string =>
  createHash("sha256")
    .update(JSON.stringify([tenantId, session, endpointName]))
    .digest("base64");
