import { readdirSync } from "node:fs";
import { defineConfig } from "rolldown";

const threads = readdirSync("dist").filter((name) => name.endsWith(".worker.js"));

// After `tsc`, in its output and in place: each thread of the server becomes one file with what it
// imports. Opening hundreds of small files was half of the time that a server takes to start.
export default defineConfig(
  threads.map((input) => ({
    input: `dist/${input}`,
    platform: "node" as const,
    // One loads a binary, the other serves files that lie beside it.
    external: ["libsql", "@fastify/swagger-ui"],
    output: {
      file: `dist/${input}`,
      codeSplitting: false,
      sourcemap: true,
      // Each start reads all of it. Names stay, so that a stack says what is meant.
      minify: { compress: true, codegen: true, mangle: false },
    },
  })),
);
