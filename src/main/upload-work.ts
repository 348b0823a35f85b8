import { Http } from "../api/http.ts";
import { ChunkWork } from "../bulk/chunk-work.ts";
import { Shipper } from "../workers/shipper.ts";
import type { UploadWorkerData } from "./upload-pool.ts";

/** What does the work of a worker, wherever it runs. */
export function chunkWorkOf({ shipping }: UploadWorkerData): ChunkWork {
  const http = new Http(shipping);
  let runs: Shipper | undefined;
  const shipRuns: Shipper["ship"] = (task) => (runs ??= new Shipper(shipping)).ship(task);
  return new ChunkWork({ call: http.call, shipRuns });
}
