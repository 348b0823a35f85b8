import { AsyncLocalStorage } from "node:async_hooks";
import { workerData } from "node:worker_threads";
import type { WorkerEnd } from "../api/sync/protocol.ts";
import { resultOf, ReplyChannel, serveCalls } from "../api/sync/serve-calls.ts";
import type { SyncData } from "./sync.ts";

// The worker behind `client.sync`: the client's own resources, made from the same options.
const { options, headers, ...end } = workerData as SyncData & WorkerEnd;
const reporting = new ReplyChannel(end);
try {
  // Not a static import: one that fails would end the worker before it can say so.
  const { createApi } = await import("./api.ts");
  const current = new AsyncLocalStorage<AbortSignal>();
  const { close: _, ...resources } = createApi(options, headers, {
    ambientSignal: () => current.getStore(),
    // This is a worker: it needs none of its own.
    uploadThreads: 0,
    env: {},
    warn: (message) => reporting.send({ kind: "warned", message }),
  });
  serveCalls(reporting, (call, signal) => current.run(signal, () => resultOf(resources, call)));
} catch (error) {
  reporting.end(`it could not start: ${String(error)}`);
}
