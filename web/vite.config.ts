import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** What the server answers itself; `vite` passes it on to a server started with `millrace serve`. */
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
    // The server serves what lies there.
    outDir: "../server/dist/web",
    emptyOutDir: true,
    // The policy of the page allows files only: nothing inline, no `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Their licences ask to be named wherever their code goes. The server does not serve this file.
    license: { fileName: "THIRD-PARTY-LICENSES.md" },
  },
  server: { proxy: Object.fromEntries(apiPaths.map((path) => [path, apiTarget])) },
});
