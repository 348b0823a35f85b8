import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { lowerPriority } from "./storage/low-priority.ts";
import { connect } from "./store/postgres/connect.ts";
import type { PostgresThreadData } from "./store/postgres/connect.ts";
import type { PostgresBackgroundRequest } from "./store/postgres/postgres-background-thread.ts";
import { PostgresBackground } from "./store/postgres/postgres-background.ts";
import { postgresRuns } from "./store/postgres/postgres-runs.ts";

// Counts metrics and indexes texts while this server is the leader. For runs that are not counted or indexed yet,
// queries read the runs themselves.

if (parentPort !== null) {
  lowerPriority();
  start(parentPort, workerData as PostgresThreadData);
}

function start(port: MessagePort, { connection }: PostgresThreadData): void {
  const background = new PostgresBackground({
    connect: () => connect(connection),
    tasks: postgresRuns.backgroundTasks,
    onFailure: (reason) => {
      process.emitWarning(`background work failed: ${reason}`);
    },
  });
  port.on("message", (message: PostgresBackgroundRequest) => {
    if (message === "close") {
      void background.close().finally(() => port.close());
    } else {
      background.setLeader(message.isLeader);
    }
  });
}
