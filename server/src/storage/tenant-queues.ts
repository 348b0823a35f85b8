/** Queues of waiting items, one per tenant. Tenants take turns, however many items each tenant has waiting. */
export class TenantQueues<Item> {
  /** Queues by tenant, none of them empty. The order of the tenants is the order of their turns. */
  readonly #queues = new Map<string, Set<Item>>();

  /** Number of the waiting items of all tenants. */
  get size(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.size, 0);
  }

  countItems(tenantId: string): number {
    return this.#queues.get(tenantId)?.size ?? 0;
  }

  add(tenantId: string, item: Item): void {
    const queue = this.#queues.get(tenantId) ?? new Set();
    this.#queues.set(tenantId, queue);
    queue.add(item);
  }

  remove(tenantId: string, item: Item): void {
    const queue = this.#queues.get(tenantId);
    queue?.delete(item);
    if (queue?.size === 0) {
      this.#queues.delete(tenantId);
    }
  }

  /**
   * Removes and returns the oldest item of the first tenant for which `canDequeue` returns true, and moves that
   * tenant to the end.
   */
  dequeue(canDequeue: (tenantId: string) => boolean): Item | undefined {
    for (const [tenantId, queue] of this.#queues) {
      if (canDequeue(tenantId)) {
        const [item] = queue;
        this.#queues.delete(tenantId);
        queue.delete(item as Item);
        if (queue.size > 0) {
          this.#queues.set(tenantId, queue);
        }
        return item;
      }
    }
    return undefined;
  }
}
