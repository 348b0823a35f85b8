import { Writable } from "node:stream";
import type { UploadStream } from "../api/uploads.ts";
import { Deferred } from "../model/deferred.ts";
import { ValidationError } from "../model/errors.ts";
import type { UploadResult } from "../model/resources/upload.ts";
import type { BulkUpload } from "./upload.ts";

/** The callback that Node passes to a method of a stream. The method must call it when its work is done. */
type WriteCallback = (error?: Error | null) => void;

/** Creates a stream that passes its rows to an upload. The upload may still be starting. */
export function createUploadStream(upload: Promise<BulkUpload>): UploadStream {
  const result = new Deferred<UploadResult>();
  // A caller may await only the pipeline, which reports the same error. An unhandled rejection of `result` would then
  // end the process.
  result.promise.catch(() => undefined);
  const add = async (row: unknown): Promise<void> => (await upload).add(row);
  const finish = async (): Promise<void> => result.resolve(await (await upload).finish());
  const abort = async (reason: Error): Promise<void> => {
    try {
      await (await upload).fail(reason);
    } catch (failure) {
      result.reject(failure);
    }
  };
  const stream = new Writable({
    objectMode: true,
    // The stream must not buffer rows itself, because the limits of the upload would not apply to buffered rows.
    highWaterMark: 1,
    write: (row: unknown, _encoding, done) => void callWhenSettled(add(row), done),
    final: (done) => void callWhenSettled(finish(), done),
    destroy(error, done) {
      if (this.writableFinished) {
        done(error);
      } else {
        const reason = error ?? new ValidationError("The stream was destroyed before it ended");
        void callWhenSettled(abort(reason), () => done(error));
      }
    },
  });
  return Object.assign(stream, { result: result.promise });
}

async function callWhenSettled(work: Promise<void>, done: WriteCallback): Promise<void> {
  let failure: Error | undefined;
  try {
    await work;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  done(failure);
}
