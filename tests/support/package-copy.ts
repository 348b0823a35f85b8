import { cp, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = new URL("../../", import.meta.url);

/** A copy of the built package, to be broken by a test. */
export interface PackageCopy extends AsyncDisposable {
  readonly folder: string;
  /** The worker's file. */
  readonly workerFile: string;
  /** The address of one of its modules, such as `workers/host/pool`. */
  readonly addressOf: (module: string) => string;
}

export async function copyPackage(): Promise<PackageCopy> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-copy-"));
  await cp(new URL("dist", root), join(folder, "dist"), { recursive: true });
  await symlink(fileURLToPath(new URL("node_modules", root)), join(folder, "node_modules"));
  await writeFile(
    join(folder, "package.json"),
    '{"type":"module","imports":{"#main/*":"./dist/main/*.js","#uploads/*":"./dist/uploads/*.js","#workers/*":"./dist/workers/*.js"}}',
  );
  return {
    folder,
    workerFile: join(folder, "dist/workers/host/ship.task.js"),
    addressOf: (module) => pathToFileURL(join(folder, `dist/${module}.js`)).href,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/**
 * A copy whose workers break on runs of certain names: `loop` keeps the thread busy for ever, `exit` ends
 * it, `heap` uses up its memory, and `throw` can't be written.
 */
export async function copyThatBreaks(): Promise<PackageCopy> {
  const copy = await copyPackage();
  await rename(copy.workerFile, join(copy.folder, "dist/workers/host/whole.task.js"));
  await writeFile(copy.workerFile, breakingWorker);
  return copy;
}

const breakingWorker = `
import { RunJson } from "../json/run-json.js";
const { markWhileWriting } = RunJson.prototype;
RunJson.prototype.markWhileWriting = function (run, write) {
  markWhileWriting.call(this, run, () => {
    const { from, to } = this.reader.extent([run]);
    breakOn(this.reader.bytes.toString("latin1", from, to));
    write();
  });
};
/** Of the tape: each short text has its length, 0x80 more, before it. */
function breakOn(tape) {
  const isNamed = (name) => tape.includes(String.fromCharCode(0x80 + name.length) + name);
  if (isNamed("loop")) {
    for (;;);
  }
  if (isNamed("exit")) {
    process.exit(3);
  }
  if (isNamed("throw")) {
    throw new TypeError("the test's own");
  }
  if (isNamed("heap")) {
    const kept = [];
    for (;;) {
      kept.push(Array.from({ length: 100_000 }, (_, i) => ({ i })));
    }
  }
}
export { default, report } from "./whole.task.js";
`;
