import { workerData } from "node:worker_threads";
import type { ChunkReply, ChunkTask } from "./chunk-task.ts";
import type { UploadWorkerData } from "./upload-pool.ts";
import { createChunkWork } from "./chunk-work.ts";

// Piscina's own data wraps the data that the pool passes as `workerData`.
const work = createChunkWork((workerData as { options: UploadWorkerData }).options);

/** Sends one tape of rows. This is the task of an upload worker. */
export default function ship(task: ChunkTask): Promise<ChunkReply> {
  return work.ship(task);
}
