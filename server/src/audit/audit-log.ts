import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuditActor, AuditEntry, PendingAudit } from "../model/audit-entry.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { createIncreasingClock } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import { auditLimits } from "./audit.ts";
import type { AuditWrites } from "./audit.ts";
import { describeTarget } from "./audit-target.ts";

/** The part of the store that the audit log uses. */
export interface AuditStore {
  readonly write: { readonly audit: Pick<AuditWrites, "record"> };
}

/** The status of an entry whose client disconnected before it received a response. */
const disconnectedStatus = 499;

const minuteMs = 60_000;

/**
 * Records the requests that an audited endpoint receives. The entry of a request that writes to the database is stored
 * in the transaction of its first write. All other entries are stored once the response was sent: refused requests,
 * exports, and changes of what the server keeps in memory only. If the process ends in between, such an entry is lost.
 */
export class AuditLog {
  readonly #store: AuditStore;
  readonly #onDropped: () => void;
  readonly #nowMs: () => number;
  readonly #nowMicros: Clock;
  readonly #recording = new Set<Promise<void>>();
  /** Refused requests in the current minute, by tenant. */
  readonly #refusals = new Map<string, number>();
  #minute = 0;

  /**
   * @param onDropped - called for each entry that is not recorded, because its tenant has sent too many refused
   *   requests in this minute or because the database did not store it
   */
  constructor(store: AuditStore, onDropped: () => void, nowMs: () => number = Date.now) {
    this.#store = store;
    this.#onDropped = onDropped;
    this.#nowMs = nowMs;
    this.#nowMicros = createIncreasingClock(nowMs);
  }

  /** Begins to audit a request whose sender is known. Returns `undefined` if its endpoint is not audited. */
  begin(request: FastifyRequest, reply: FastifyReply, actor: AuditActor): PendingAudit | undefined {
    const { audit: action } = request.routeOptions.config;
    if (action === undefined) {
      return undefined;
    }
    let isStored = false;
    const id = randomUUID();
    const atMicros = this.#nowMicros();
    // Read now, because Node knows the address only while the socket is connected.
    const address = (request.ip as string | undefined) ?? null;
    const createEntry = (): AuditEntry => ({
      id,
      tenantId: request.tenantId,
      atMicros,
      actor,
      address,
      action: action.name,
      target: describeTarget(request, action),
      outcome: "succeeded",
      status: null,
      requestId: request.id,
    });
    // In contrast to the hook `onResponse`, this event also occurs if the client disconnects before the response.
    reply.raw.once("close", () => {
      const status = reply.raw.headersSent ? reply.raw.statusCode : disconnectedStatus;
      if (status >= 400) {
        this.#recordRefusal({
          ...createEntry(),
          // If the entry of a write is stored already, it is kept. This additional entry records that the request
          // failed.
          id: randomUUID(),
          outcome: status === 401 || status === 403 ? "denied" : "failed",
          status,
        });
      } else if (!isStored) {
        this.#record(createEntry());
      }
    });
    return { createEntry, markStored: () => (isStored = true) };
  }

  /** Waits until all entries are stored. */
  async close(): Promise<void> {
    await Promise.all(this.#recording);
  }

  #recordRefusal(entry: AuditEntry): void {
    const minute = Math.floor(this.#nowMs() / minuteMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#refusals.clear();
    }
    const count = (this.#refusals.get(entry.tenantId) ?? 0) + 1;
    this.#refusals.set(entry.tenantId, count);
    if (count <= auditLimits.refusalsPerMinute) {
      this.#record(entry);
      return;
    }
    if (count === auditLimits.refusalsPerMinute + 1) {
      process.emitWarning(
        `tenant ${entry.tenantId} has sent more than ${auditLimits.refusalsPerMinute} refused requests in a minute: the audit log records no more of them until the next minute`,
      );
    }
    this.#onDropped();
  }

  #record(entry: AuditEntry): void {
    const recording = this.#store.write.audit
      .record(entry.tenantId, entry)
      .catch((cause: unknown) => {
        this.#onDropped();
        if (cause instanceof RequestError) {
          // The store refuses all writes because its disk is full or it is closing, and has logged this reason.
          return;
        }
        process.emitWarning(
          `an entry of the audit log could not be stored (${entry.action}): ${messageOf(cause)}`,
        );
      });
    this.#recording.add(recording);
    void recording.finally(() => this.#recording.delete(recording));
  }
}
