import { workerData } from "node:worker_threads";
import type { ChunkReply, ChunkTask } from "./chunk-task.ts";
import type { UploadWorkerData } from "./upload-pool.ts";
import { createChunkWork } from "./chunk-work.ts";

// The pool passes the data for the task as the member `options` of `workerData`.
const work = createChunkWork((workerData as { options: UploadWorkerData }).options);

/** Sends one tape, which is a buffer of encoded rows. This is the task of an upload worker. */
export default function ship(task: ChunkTask): Promise<ChunkReply> {
  return work.ship(task);
}
