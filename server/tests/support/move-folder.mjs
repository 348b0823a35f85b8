// Moves a data folder to a PostgreSQL database: node move-folder.mjs <folder> <store> [<line>]
// When it has printed a line that contains the last argument, it stands still, so that a test can kill it there.
import { writeSync } from "node:fs";
import process from "node:process";
import { moveFolder } from "../../dist/index.js";

const [, , dataDir, store, lastLine] = process.argv;
const result = await moveFolder({
  dataDir,
  store,
  onProgress: (line) => {
    writeSync(1, `${line}\n`);
    if (lastLine !== undefined && line.includes(lastLine)) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
  },
});
writeSync(1, `${JSON.stringify(result)}\n`);
