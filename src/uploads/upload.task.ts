import { workerData } from "node:worker_threads";
import type { ChunkReply, ChunkTask } from "./chunk-task.ts";
import type { UploadWorkerData } from "./upload-pool.ts";
import { chunkWorkOf } from "./chunk-work.ts";

// Piscina wraps what the worker needs to know together with data of its own.
const work = chunkWorkOf((workerData as { options: UploadWorkerData }).options);

/** The worker's task: one tape of rows. */
export default function ship(task: ChunkTask): Promise<ChunkReply> {
  return work.ship(task);
}
