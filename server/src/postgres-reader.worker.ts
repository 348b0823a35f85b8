import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "./model/errors.ts";
import { TokenKeys } from "./storage/sqlite/token-keys.ts";
import { toFailure } from "./storage/thread-reply.ts";
import { findTransferable } from "./storage/transferable.ts";
import { connect } from "./store/postgres/connect.ts";
import type { PostgresThreadData } from "./store/postgres/connect.ts";
import { postgresRuns } from "./store/postgres/postgres-runs.ts";
import { ReconnectingReadSession } from "./store/postgres/postgres-sessions.ts";
import type { ReaderCall, ReaderMessage } from "./store/reader-protocol.ts";

// Runs queries on a connection to PostgreSQL, one after the other. Rows are parsed and pages are written as JSON in
// this thread, so that long pages do not block the thread that serves HTTP.

if (parentPort !== null) {
  start(parentPort, workerData as PostgresThreadData);
}

function start(port: MessagePort, { connection, dataDir }: PostgresThreadData): void {
  const post = (message: ReaderMessage): void =>
    port.postMessage(message, message.kind === "result" ? findTransferable(message.value) : []);
  try {
    const queries = new ReconnectingReadSession({
      connect: () => connect(connection),
      runs: postgresRuns,
      tokenCipher: TokenKeys.read(dataDir),
    });
    const runQuery = async ({ sequence, ...query }: ReaderCall): Promise<void> => {
      try {
        post({ kind: "result", sequence, value: await queries.read(query) });
      } catch (cause) {
        post(toFailure(sequence, cause));
      }
    };
    port.on("message", (message: ReaderCall | "cancel" | "close") => {
      if (message === "cancel") {
        queries.cancel();
      } else if (message === "close") {
        void queries.close().finally(() => port.close());
      } else {
        void runQuery(message);
      }
    });
    post({ kind: "ready" });
  } catch (cause) {
    post({ kind: "failedToStart", reason: messageOf(cause) });
    port.close();
  }
}
