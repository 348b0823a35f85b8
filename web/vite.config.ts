import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

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

export default defineConfig({
  plugins: [react()],
  build: {
    // The server serves the files in this folder.
    outDir: "../server/dist/web",
    emptyOutDir: true,
    // The Content-Security-Policy allows only files: no inline code and no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The licences of the bundled packages must be distributed with their code. The server does not serve this file.
    license: { fileName: "THIRD-PARTY-LICENSES.md" },
  },
  server: { proxy: Object.fromEntries(apiPaths.map((path) => [path, apiTarget])) },
});
