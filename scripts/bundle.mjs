// Bundles the SDK: its entries, which share chunks so that an error has one class whichever entry it comes from, and each
// of its threads into one file. Opening two hundred small files was two thirds of the time that an import of the SDK took; and
// a consumer installs none of the bundled packages.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createNotices } from "./third-party-notices.mjs";
import { writeBundle } from "./write-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { dependencies, peerDependencies, exports } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

/** The modules that programs import, named from `src`: what package.json exports. */
const entries = Object.values(exports).flatMap(({ default: file = "" }) =>
  file.startsWith("./dist/") ? [file.slice("./dist/".length).replace(/\.js$/, "")] : [],
);

/** The threads, named from `src`. */
const threads = ["main/sync.worker.ts", "uploads/upload.task.ts", "workers/host/ship.task.ts"];

/** Whether a source, named from `src`, becomes a bundle. */
export const isSdkEntry = (name) =>
  threads.includes(name) || entries.includes(name.replace(/\.ts$/, ""));

/** Writes the bundles of the entries and of the threads to `dist`. */
export const bundleSdk = async () => {
  const notices = createNotices();
  rmSync(join(root, "dist/chunks"), { recursive: true, force: true });
  await Promise.all([
    bundle(
      Object.fromEntries(entries.map((name) => [name, join(root, "src", `${name}.ts`)])),
      { dir: join(root, "dist"), entryFileNames: "[name].js", chunkFileNames: "chunks/[name].js" },
      notices,
    ),
    ...threads.map((name) =>
      bundleThread(join(root, "src", name), join(root, "dist", toJs(name)), notices),
    ),
  ]);
  notices.write(join(root, "dist/THIRD-PARTY-LICENSES.txt"));
};

/** Writes a thread and all that it imports into one file. */
export const bundleThread = (source, file, notices) =>
  bundle(source, { file, codeSplitting: false }, notices);

// Names and lines stay as they are, because a stack trace would otherwise need a source map. The documentation comments
// are in the type declarations, and reading them takes a twentieth of the import.
const bundle = (input, output, notices) =>
  writeBundle(
    {
      input,
      external: Object.keys({ ...dependencies, ...peerDependencies }).map(
        (name) => new RegExp(`^${name}(/|$)`),
      ),
      resolve: { alias: { undici$: join(root, "scripts/undici-parts.mjs") } },
      plugins: [builtinModules],
    },
    { ...output, comments: { jsdoc: false } },
    notices,
  );

/**
 * Lets bundled CommonJS code get Node's modules, the only ones that it requires, from the process. The bundler's own
 * helper calls `createRequire(import.meta.url)`, which throws when a user's bundler makes one CommonJS file of a program,
 * because `import.meta.url` is undefined there.
 */
const builtinModules = {
  name: "builtin-modules",
  renderChunk: (code) =>
    code.replace("(() => createRequire(import.meta.url))()", "process.getBuiltinModule"),
};

const toJs = (name) => name.replace(/\.ts$/, ".js");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleSdk();
}
