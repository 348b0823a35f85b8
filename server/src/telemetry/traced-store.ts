import type { ScopedRequest } from "../http/request-scope.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import type { RunReceiver } from "../runs/handlers/ingest-handlers.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { Promised } from "../storage/promised.ts";
import { invokeMethod } from "../storage/thread-reply.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";
import type { Readers, Writers } from "../store/repositories.ts";
import { createResourceProxy } from "../store/resource-proxy.ts";
import { ScopedStore } from "../store/scoped-store.ts";
import type { Store } from "../store/store.ts";
import type { SpanAttributes, Telemetry, TracedCall } from "./telemetry.ts";

/** The engine of a store, by its name in OpenTelemetry. */
export type DatabaseSystem = "sqlite" | "postgresql";

/**
 * A store that records each query and each write as a span. A span lasts from the call to its result, including the
 * time spent waiting for a thread and for the database. Arguments and results are not recorded.
 */
export class TracedStore extends ScopedStore {
  readonly #store: Store;
  readonly #telemetry: Telemetry;
  readonly #system: DatabaseSystem;

  constructor(store: Store, telemetry: Telemetry, system: DatabaseSystem) {
    const toTracedCall = (
      kind: string,
      call: ResourceCall<Readers> | ResourceCall<Writers>,
    ): TracedCall => describeCall(kind, `${call.resource}.${call.method}`, system);
    super(store, {
      read: createResourceProxy<Readers>((call) =>
        telemetry.traceCall(toTracedCall("read", call), () => callOf(store.read, call)),
      ),
      write: createResourceProxy<Writers>((call) =>
        telemetry.traceCall(toTracedCall("write", call), () => callOf(store.write, call)),
      ),
    });
    this.#store = store;
    this.#telemetry = telemetry;
    this.#system = system;
  }

  override forRequest(request: ScopedRequest): Store {
    return new TracedStore(this.#store.forRequest(request), this.#telemetry, this.#system);
  }

  override forClient(client: string): Store {
    return new TracedStore(this.#store.forClient(client), this.#telemetry, this.#system);
  }

  override ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#telemetry.traceCall(describeCall("write", "runs.ingest", this.#system), () =>
      super.ingest(tenantId, batch),
    );
  }
}

const describeCall = (kind: string, operation: string, system: DatabaseSystem): TracedCall => ({
  name: `${kind} ${operation}`,
  attributes: { "db.system.name": system, "db.operation.name": operation },
});

const callOf = async <Resources extends object>(
  resources: Promised<Resources>,
  call: ResourceCall<Resources>,
): Promise<unknown> => invokeMethod(resources, call as never);

/** Records each batch that is appended to the log in front of the store. */
export const traceLog = (log: RunReceiver, telemetry: Telemetry): RunReceiver => ({
  ingest: (tenantId, batch) =>
    telemetry.traceCall({ name: "log append", attributes: { "messaging.system": "nats" } }, () =>
      log.ingest(tenantId, batch),
    ),
});

/** Records each step of a job as a trace of its own, because no request waits for it. */
export const traceJobKind = (kind: AnyJobKind, telemetry: Telemetry): AnyJobKind => ({
  ...kind,
  prepare: (tenantId, parameters) => kind.prepare(tenantId, parameters),
  step: (context, cursor) => {
    const attributes: SpanAttributes = {
      "millrace.tenant.id": context.tenantId,
      "millrace.job.id": context.jobId,
      "millrace.job.kind": kind.name,
    };
    return telemetry.traceWork({ name: `job ${kind.name}`, attributes }, () =>
      kind.step(context, cursor),
    );
  },
});
