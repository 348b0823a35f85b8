import { workerData } from "node:worker_threads";
import { ReplyChannel, serveCalls } from "../../dist/api/sync/serve-calls.js";

serveCalls(new ReplyChannel(workerData), () => process.exit(7));
