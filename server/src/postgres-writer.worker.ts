import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { TokenKeys } from "./storage/sqlite/token-keys.ts";
import { toFailure } from "./storage/thread-reply.ts";
import { connect } from "./store/postgres/connect.ts";
import type { PostgresThreadData } from "./store/postgres/connect.ts";
import { postgresRuns } from "./store/postgres/postgres-runs.ts";
import { PostgresWriter } from "./store/postgres/postgres-writer.ts";
import type {
  PostgresWriterCall,
  PostgresWriterMessage,
} from "./store/postgres/postgres-writer-thread.ts";

// Performs all writes of a server with PostgreSQL. Batches of runs are merged in this thread, so that they do not block
// the thread that serves HTTP. Calls run at the same time, as far as the locks of PostgreSQL allow.

/** Milliseconds between two reports of the state of connections. */
const stateIntervalMs = 1_000;

if (parentPort !== null) {
  // Do not await this: a chunk that is loaded meanwhile imports this module, and would wait for it forever.
  void start(parentPort, workerData as PostgresThreadData);
}

async function start(
  port: MessagePort,
  { connection, dataDir, canLead = true }: PostgresThreadData,
): Promise<void> {
  const post = (message: PostgresWriterMessage, buffers: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, buffers);
  // The first message reports whether the thread has started.
  let isReady = false;
  const writer = new PostgresWriter(
    {
      connect: () => connect(connection),
      runs: postgresRuns,
      tokenCipher: TokenKeys.read(dataDir),
    },
    {
      onActivity: (activity, source) => {
        if (isReady) {
          post({ kind: "activity", activity, source });
        }
      },
      onWake: () => {
        if (isReady) {
          postState();
          post({ kind: "wake" });
        }
      },
    },
    { canLead },
  );
  const postState = (): void => {
    post({ kind: "state", isLeader: writer.isLeader, pools: writer.pools });
  };
  const perform = async ({ sequence, request }: PostgresWriterCall): Promise<void> => {
    const buffers = request.kind === "ingest" ? [request.batch.bodies.buffer] : [];
    try {
      const value =
        request.kind === "ingest"
          ? await writer.ingest(request.tenantId, request.batch)
          : await writer.write(request);
      post({ kind: "done", reply: { kind: "result", sequence, value }, buffers }, buffers);
    } catch (cause) {
      post({ kind: "done", reply: toFailure(sequence, cause), buffers }, buffers);
    }
  };
  const stateTimer = setInterval(() => {
    if (isReady) {
      postState();
    }
  }, stateIntervalMs);
  port.on("message", (message: PostgresWriterCall | "close") => {
    if (message === "close") {
      clearInterval(stateTimer);
      void writer.close().finally(() => port.close());
    } else {
      void perform(message);
    }
  });
  try {
    await writer.start();
    post({ kind: "ready" });
    isReady = true;
    postState();
  } catch (cause) {
    clearInterval(stateTimer);
    post({ kind: "failedToStart", reason: messageOf(cause) });
    port.close();
  }
}
