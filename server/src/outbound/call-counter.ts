import { OutboundError } from "./outbound-error.ts";

/** Counts the calls that run at the same time, of each tenant and of all. */
export class CallCounter {
  readonly #limits: { readonly ofTenant: number; readonly ofAll: number };
  readonly #ofTenant = new Map<string, number>();
  #ofAll = 0;

  constructor(limits: { readonly ofTenant: number; readonly ofAll: number }) {
    this.#limits = limits;
  }

  /**
   * Counts a call as running. The caller must call the returned function when the call has ended.
   *
   * @throws OutboundError too many calls are running.
   */
  start(tenantId: string): () => void {
    const running = this.#ofTenant.get(tenantId) ?? 0;
    if (running >= this.#limits.ofTenant || this.#ofAll >= this.#limits.ofAll) {
      throw new OutboundError(
        "BUSY",
        `Too many calls to other hosts are running: at most ${this.#limits.ofTenant} of one tenant and ${this.#limits.ofAll} of all tenants can run at the same time. Try again later.`,
      );
    }
    this.#ofTenant.set(tenantId, running + 1);
    this.#ofAll += 1;
    let isCounted = true;
    return () => {
      if (isCounted) {
        isCounted = false;
        this.#end(tenantId);
      }
    };
  }

  #end(tenantId: string): void {
    const running = this.#ofTenant.get(tenantId) ?? 0;
    this.#ofAll -= 1;
    if (running <= 1) {
      this.#ofTenant.delete(tenantId);
    } else {
      this.#ofTenant.set(tenantId, running - 1);
    }
  }
}
