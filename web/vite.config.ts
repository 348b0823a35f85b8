import { appendFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

/** The paths of the server's API. Vite's development server proxies them to a server started with `millrace serve`. */
const apiPaths = [
  "/info",
  "/runs",
  "/sessions",
  "/datasets",
  "/examples",
  "/feedback",
  "/annotation-queues",
  "/repos",
  "/commits",
  "/likes",
  "/settings",
  "/attachments",
  "/v1",
  "/ui",
  "^/public/[^/]+/(run|datasets|examples)",
];
const apiTarget = "http://127.0.0.1:1984";

const outDir = "../server/dist/web";
const licenseFile = "THIRD-PARTY-LICENSES.md";

/** Adds the license of the font, which only a style sheet imports: Vite lists the packages of scripts. */
const fontLicense: Plugin = {
  name: "font-license",
  apply: "build",
  closeBundle() {
    const font = "@fontsource-variable/inter";
    const license = readFileSync(createRequire(import.meta.url).resolve(`${font}/LICENSE`), "utf8");
    appendFileSync(
      fileURLToPath(new URL(`${outDir}/${licenseFile}`, import.meta.url)),
      `\n## ${font}\n\n${license}`,
    );
  },
};

/** Modules that go into one chunk if at least four pages use them: controls, dialogs, tables and the filter. */
const sharedModules = new RegExp(
  [
    String.raw`/node_modules/(@mantine|@floating-ui|@tanstack)/`,
    String.raw`/components/(dialog|filter|page|table|text|time)/`,
    String.raw`/components/code/(copy-text|colored-code)\.tsx$`,
  ].join("|"),
);

export default defineConfig({
  plugins: [react(), fontLicense],
  // Relative URLs: the server adds the path below which it is published to those of the page.
  base: "./",
  build: {
    // The server serves the files in this folder.
    outDir,
    emptyOutDir: true,
    // The Content-Security-Policy allows only files: no inline code and no `data:` URLs.
    assetsInlineLimit: 0,
    // Adding a link for each script of a page takes longer than finding the scripts by their imports.
    modulePreload: false,
    // The licences of the bundled packages must be distributed with their code. The server does not serve this file.
    license: { fileName: licenseFile },
    // The page's first script lists all files of the build. Shorter hashes make it smaller, and are still unique.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash:7].js",
        chunkFileNames: "assets/[name]-[hash:7].js",
        assetFileNames: "assets/[name]-[hash:7][extname]",
        // Each page is a chunk. Without these groups, the bundler would split what pages share into more than a hundred
        // chunks, one for each set of pages. The first group that matches a module takes it and what it imports.
        codeSplitting: {
          groups: [
            { name: "initial", tags: ["$initial"] },
            { name: "shared", test: sharedModules, minShareCount: 4 },
            { name: "chart", test: /\/node_modules\/uplot\/|\/components\/chart\// },
            { name: "markdown", test: /\/components\/markdown\// },
          ],
        },
      },
    },
  },
  server: { proxy: Object.fromEntries(apiPaths.map((path) => [path, apiTarget])) },
});
