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

/** A copy whose workers fail on runs with certain names: see `crashing.task.ts`. */
export async function copyWithCrashingWorker(): Promise<PackageCopy> {
  const copy = await copyPackage();
  const source = fileURLToPath(new URL("crashing.task.ts", import.meta.url));
  await bundleThread(source, copy.workerFile);
  return copy;
}
