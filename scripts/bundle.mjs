// Bundles the SDK. Its entries share chunks, so that an error has the same class whichever entry throws it. Each of its
// threads becomes one file. Without bundles, two thirds of the time to import the SDK went into opening two hundred
// small files. A program that uses the SDK also need not install the bundled packages.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createNotices } from "./third-party-notices.mjs";
import { writeBundle } from "./write-bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { dependencies, peerDependencies, exports } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

/** The modules that package.json exports, with paths relative to `src`. */
const entries = Object.values(exports).flatMap(({ default: file = "" }) =>
  file.startsWith("./dist/") ? [file.slice("./dist/".length).replace(/\.js$/, "")] : [],
);

/** The modules that threads run, with paths relative to `src`. */
const threads = ["main/sync.worker.ts", "uploads/upload.task.ts", "workers/host/ship.task.ts"];

/** Whether a source becomes a bundle. Its path is relative to `src`. */
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

/** Writes the module of a thread and everything that it imports into one file. */
export const bundleThread = (source, file, notices) =>
  bundle(source, { file, codeSplitting: false }, notices);

// Names and lines are kept, so that a stack trace is readable without a source map. Documentation comments are removed:
// the type declarations contain them, and parsing them took a twentieth of the time of an import.
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
 * Makes bundled CommonJS code, which requires only Node's modules, get them from the process. The bundler's own helper
 * calls `createRequire(import.meta.url)`. It throws in a program that its developers have bundled as CommonJS, because
 * `import.meta.url` is undefined there.
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
