import { dirname } from "node:path";
import type { TextIndexWrite } from "./runs/sqlite/text-index/text-index-thread.ts";
import { TextIndexer } from "./runs/sqlite/text-index/text-indexer.ts";
import { runInBackground } from "./storage/run-in-background.ts";
import { readDiskUse, computeReserveBytes } from "./storage/sqlite/disk-reserve.ts";

// Fills the text index. Content that is not indexed is searched without the index.

runInBackground<TextIndexWrite>(({ path, write }) => {
  const indexer = new TextIndexer(path, {
    claimRuns: (lastRowNumber) => write({ method: "claimRuns", argument: lastRowNumber }),
    deleteChanges: (lastSequenceNumber) =>
      write({ method: "deleteChanges", argument: lastSequenceNumber }),
  });
  const folder = dirname(path);
  const reserveBytes = computeReserveBytes(readDiskUse(folder));
  return {
    runStep: async () => {
      const { freeBytes } = readDiskUse(folder);
      // On a nearly full disk new content is not indexed, because the database needs the space. Deleted content is
      // still removed from the index until almost no space is left.
      const wasBusy =
        freeBytes >= reserveBytes / 16 &&
        (await indexer.runStep({ shouldIndexNewRuns: freeBytes >= reserveBytes }));
      if (freeBytes < reserveBytes) {
        indexer.shortenLog();
      }
      return wasBusy;
    },
    close: () => indexer.close(),
  };
});
