import { cpSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Plugin, RolldownOptions } from "rolldown";
import { defineConfig } from "rolldown";
import { ThirdPartyNotices } from "./third-party-notices.ts";

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
};
const notices = new ThirdPartyNotices();

const threads = readdirSync("dist").filter((name) => name.endsWith(".worker.js"));

/** Writes the licences of all that was bundled so far: complete when the last bundle is. */
const collectNotices: Plugin = {
  name: "collect-notices",
  writeBundle(_options, output) {
    for (const file of Object.values(output)) {
      for (const path of file.type === "chunk" ? Object.keys(file.modules) : []) {
        notices.addModule(path);
      }
    }
    notices.write("dist/THIRD-PARTY-LICENSES.txt");
  },
};

copySwaggerUi();

// After `tsc`, in its output and in place: the entry and each thread of the server become one file with
// what they import. Opening hundreds of small files was half of the time that a server takes to start;
// and a consumer installs none of the packages within, so that none can refuse the consumer's Node.
export default defineConfig([
  ...threads.map((name) => bundle(name, externals(["millrace"]))),
  // A program compares the errors it gets with those of the SDK: they must be the same classes.
  bundle("index.js", externals([])),
]);

function bundle(name: string, external: readonly RegExp[]): RolldownOptions {
  return {
    input: `dist/${name}`,
    platform: "node",
    external: [...external],
    plugins: [collectNotices],
    output: {
      file: `dist/${name}`,
      codeSplitting: false,
      sourcemap: true,
      // Each start reads all of it. Names stay, so that a stack says what is meant.
      minify: { compress: true, codegen: true, mangle: false },
    },
  };
}

/** What a consumer installs beside the server. */
function externals(bundled: readonly string[]): readonly RegExp[] {
  return Object.keys(dependencies)
    .filter((name) => !bundled.includes(name))
    .map((name) => new RegExp(`^${name}(/|$)`));
}

/** The page over the calls, `/docs`, is served from these. */
function copySwaggerUi(): void {
  const manifest = createRequire(import.meta.url).resolve("@fastify/swagger-ui/package.json");
  const from = join(dirname(manifest), "static");
  for (const name of ["swagger-ui.css", "index.css", "swagger-ui-bundle.js", "favicon-32x32.png"]) {
    cpSync(join(from, name), join("dist/api-docs", name));
  }
  // The package is a Fastify plugin around the files of another one, which says its licence nowhere else.
  notices.add({ name: "swagger-ui", version: "5", license: "Apache-2.0" });
}
