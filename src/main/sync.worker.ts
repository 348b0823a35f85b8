import { AsyncLocalStorage } from "node:async_hooks";
import { workerData } from "node:worker_threads";
import type { WorkerChannel } from "../api/sync/protocol.ts";
import type { CallControl } from "../api/sync/serve-calls.ts";
import { callResource, ReplyChannel, serveCalls } from "../api/sync/serve-calls.ts";
import { PromptCounts } from "../model/records/prompt-counts.ts";
import type { SyncData } from "./sync.ts";

// The worker thread of `client.sync`. It creates the client's resources from the same options and serves blocking
// calls.
const { options, headers, promptCountMemory, ...channel } = workerData as SyncData & WorkerChannel;
const replies = new ReplyChannel(channel);
try {
  // A dynamic import, so that a failure is reported to the main thread. A failed static import would end the worker
  // first.
  const { createApi } = await import("./resources.ts");
  const currentCall = new AsyncLocalStorage<CallControl>();
  const { resources } = createApi(options, headers, {
    getAmbientSignal: () => currentCall.getStore()?.signal,
    getAttemptLog: () => currentCall.getStore()?.attempts,
    // Uploads run in this thread, which is already a worker.
    uploadThreads: 0,
    env: {},
    warn: (message, topic) => replies.send({ kind: "warned", message, topic }),
    promptCounts: new PromptCounts(promptCountMemory),
  });
  serveCalls(replies, (call, control) =>
    currentCall.run(control, () => callResource(resources, call)),
  );
} catch (error) {
  replies.end(`it could not start: ${String(error)}`);
}
