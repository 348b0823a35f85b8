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
    modulePreload: false,
    // The licences of the bundled packages must be distributed with their code. The server does not serve this file.
    license: { fileName: licenseFile },
    // The page's first script lists all files of the build. Shorter hashes make it smaller, and are still unique.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash:7].js",
        chunkFileNames: "assets/[name]-[hash:7].js",
        assetFileNames: "assets/[name]-[hash:7][extname]",
        codeSplitting: {
          groups: [
            { name: "initial", tags: ["$initial"], priority: 6 },
            {
              name: "shared",
              test: /node_modules[\\/](@mantine|@floating-ui|@tanstack)|[\\/]components[\\/](dialog|filter|page|table|text|time)[\\/]|[\\/]components[\\/]code[\\/](copy-text|colored-code)\.tsx$/,
              minShareCount: 4,
              priority: 5,
            },
            {
              name: "chart",
              test: /[\\/]node_modules[\\/]uplot[\\/]|[\\/]components[\\/]chart[\\/]/,
              priority: 4,
            },
            { name: "markdown", test: /[\\/]components[\\/]markdown[\\/]/, priority: 3 },
          ],
        },
      },
    },
  },
  server: { proxy: Object.fromEntries(apiPaths.map((path) => [path, apiTarget])) },
});
