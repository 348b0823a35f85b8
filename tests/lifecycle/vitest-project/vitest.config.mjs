import { defineConfig } from "vitest/config";

// oxlint-disable-next-line import/no-default-export -- where vitest looks for it
export default defineConfig({ test: { include: ["*.spec.mjs"] } });
