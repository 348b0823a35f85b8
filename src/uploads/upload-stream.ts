import { Writable } from "node:stream";
import type { UploadStream } from "../api/uploads.ts";
import { Deferred } from "../model/deferred.ts";
import { ValidationError } from "../model/errors.ts";
import type { UploadResult } from "../model/resources/upload.ts";
import type { BulkUpload } from "./upload.ts";

type Done = (error?: Error | null) => void;

/** A stream whose rows go to an upload that is about to begin. */
export function uploadStreamTo(beginning: Promise<BulkUpload>): UploadStream {
  const result = new Deferred<UploadResult>();
  // Whoever awaits the pipeline alone has its error from there.
  result.promise.catch(() => undefined);
  const add = async (row: unknown): Promise<void> => (await beginning).add(row);
  const finish = async (): Promise<void> => result.resolve(await (await beginning).finish());
  const abort = async (reason: Error): Promise<void> => {
    try {
      await (await beginning).fail(reason);
    } catch (failure) {
      result.reject(failure);
    }
  };
  const stream = new Writable({
    objectMode: true,
    // Its own queue would be rows in memory that no limit counts.
    highWaterMark: 1,
    write: (row: unknown, _encoding, done) => void settle(add(row), done),
    final: (done) => void settle(finish(), done),
    destroy(error, done) {
      if (this.writableFinished) {
        done(error);
      } else {
        const reason = error ?? new ValidationError("The stream was destroyed before its end");
        void settle(abort(reason), () => done(error));
      }
    },
  });
  return Object.assign(stream, { result: result.promise });
}

async function settle(work: Promise<void>, done: Done): Promise<void> {
  let failure: Error | undefined;
  try {
    await work;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
  }
  done(failure);
}
