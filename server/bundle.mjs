// Bundles the server's entry and each of its threads with all that it imports: `npm run bundle` for the published package,
// `bundleServer` for a clone. Opening hundreds of small files was half of the time that a server took to start; and a
// consumer installs none of the bundled packages, so that none can refuse the consumer's Node. What a server imports
// dynamically is in files of its own: compiling code that no request needs was a third of what was left.
import { cpSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createNotices } from "../scripts/third-party-notices.mjs";
import { writeBundle } from "../scripts/write-bundle.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** Whether a source, named from `src`, becomes a bundle. */
export const isServerEntry = (name) =>
  name === "index.ts" ||
  name === "log.ts" ||
  name === "otel.ts" ||
  name === "work.ts" ||
  /^[\w-]+\.worker\.ts$/.test(name);

/**
 * Writes the bundles to `dist`.
 *
 * @param options.isPublished - also minifies them, and writes the licences of what they contain
 */
export const bundleServer = async ({ isPublished }) => {
  const notices = createNotices();
  copySwaggerUi(notices);
  rmSync(join(folder, "dist/chunks"), { recursive: true, force: true });
  const entries = readdirSync(join(folder, "src")).filter(isServerEntry);
  await Promise.all(entries.map((name) => bundle(name, { isPublished, notices })));
  if (isPublished) {
    notices.write(join(folder, "dist/THIRD-PARTY-LICENSES.txt"));
  }
};

const bundle = async (name, { isPublished, notices }) => {
  // A program compares the server's errors with those of the SDK: the entries must import the same classes, so the SDK
  // is not bundled there.
  const external = Object.keys(dependencies).filter(
    (dependency) => dependency !== "millrace" || !name.endsWith(".worker.ts"),
  );
  const input = join(folder, "src", name);
  const startChunk = createStartChunk(input);
  await writeBundle(
    {
      input,
      external: external.map((dependency) => new RegExp(`^${dependency}(/|$)`)),
      resolve: { alias: { undici$: join(folder, "undici-parts.mjs") } },
      plugins: [unusedParts, startChunk.plugin],
    },
    {
      dir: join(folder, "dist"),
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      codeSplitting: { groups: [startChunk.group] },
      sourcemap: isPublished,
      // Every start parses the whole bundle. Names are kept for readable stack traces.
      minify: isPublished && { compress: true, codegen: true, mangle: false },
    },
    notices,
  );
};

/**
 * Puts the modules that an entry loads at its start into one chunk, so that a start opens two files in place of ten. The
 * others are in chunks that are loaded when they are needed.
 */
const createStartChunk = (input) => {
  const startModules = new Set([input]);
  return {
    plugin: {
      name: "start-chunk",
      buildEnd() {
        for (const id of startModules) {
          this.getModuleInfo(id)?.importedIds.forEach((imported) => startModules.add(imported));
        }
      },
    },
    group: { name: basename(input).replace(/\..*/, ""), test: (id) => startModules.has(id) },
  };
};

/**
 * Replaces what bundled packages import for functions that this server does not use: of Fastify, the compilers of schemas
 * (the server has its own), requests without a network, the log, and the check that a plugin was made for the version of
 * Fastify, which is made when the sources run; of fast-json-stringify, what chooses between schemas and what writes code
 * to files. They were a third of what each start loaded.
 */
const unusedParts = {
  name: "unused-parts",
  resolveId: {
    filter: {
      id: /^(?:@fastify\/(?:ajv|fast-json-stringify)-compiler|light-my-request|pino|semver|\.\/lib\/(?:validator|standalone))$/,
    },
    handler: (source, importer) =>
      source.startsWith(".") && importer?.endsWith("/fast-json-stringify/index.js") !== true
        ? undefined
        : join(folder, "unused-parts.mjs"),
  },
};

/** Copies the files that `/docs` serves. */
const copySwaggerUi = (notices) => {
  const manifest = createRequire(import.meta.url).resolve("@fastify/swagger-ui/package.json");
  const from = join(dirname(manifest), "static");
  for (const name of ["swagger-ui.css", "index.css", "swagger-ui-bundle.js", "favicon-32x32.png"]) {
    cpSync(join(from, name), join(folder, "dist/api-docs", name));
  }
  // The package is a Fastify plugin around the files of another one, which contains no licence text.
  notices.add({ name: "swagger-ui", version: "5", license: "Apache-2.0" });
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleServer({ isPublished: true });
}
