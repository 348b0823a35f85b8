import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundleThread } from "../../scripts/bundle.mjs";

const root = new URL("../../", import.meta.url);

/** A copy of the built package that a test can modify. */
export interface PackageCopy extends AsyncDisposable {
  readonly folder: string;
  /** Path of the worker's entry file. */
  readonly workerFile: string;
  /** The file URL of one of its modules, such as `workers/host/pool`. */
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
 * A copy whose workers fail on runs with these names: `loop` keeps the thread busy forever, `exit` ends
 * it, `heap` exhausts its memory, and `throw` throws when it is serialized.
 */
export async function copyWithCrashingWorker(): Promise<PackageCopy> {
  const copy = await copyPackage();
  const source = join(copy.folder, "breaking.task.js");
  await writeFile(source, breakingWorker);
  await bundleThread(source, copy.workerFile);
  return copy;
}

const sourceOf = (name: string): string => fileURLToPath(new URL(`src/workers/${name}`, root));

const breakingWorker = `
import { RunJson } from "${sourceOf("json/run-json.ts")}";
import { TapeReader } from "${sourceOf("json/tape-reader.ts")}";
const { markBeingWritten } = TapeReader.prototype;
/** An exchange is marked before it is read. */
TapeReader.prototype.markBeingWritten = function (records) {
  markBeingWritten.call(this, records);
  for (const record of this.hasExchanges ? records : []) {
    const head = this.findHead(record);
    breakOn(this.bytes.toString("latin1", head, head + this.view.getUint32(head, true)));
  }
};
const { markWhileWriting } = RunJson.prototype;
RunJson.prototype.markWhileWriting = function (run, write) {
  markWhileWriting.call(this, run, () => {
    const { from, to } = this.reader.findExtent([run]);
    breakOn(this.reader.bytes.toString("latin1", from, to));
    write();
  });
};
/** Searches the bytes of a tape for the names. On a tape, a short text follows a byte of 0x80 plus its length. */
function breakOn(tape) {
  const isNamed = (name) => tape.includes(String.fromCharCode(0x80 + name.length) + name);
  if (isNamed("loop")) {
    for (;;);
  }
  if (isNamed("exit")) {
    process.exit(3);
  }
  if (isNamed("throw")) {
    throw new TypeError("thrown by the test");
  }
  if (isNamed("heap")) {
    const retained = [];
    for (;;) {
      retained.push(Array.from({ length: 100_000 }, (_, i) => ({ i })));
    }
  }
}
export { default, report } from "${sourceOf("host/ship.task.ts")}";
`;
