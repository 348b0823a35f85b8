import { workerData } from "node:worker_threads";
import { Reporting, serveCalls } from "../../dist/api/sync/serve-calls.js";

serveCalls(new Reporting(workerData), () => process.exit(7));
