#!/usr/bin/env node
import { existsSync } from "node:fs";

// Sources lie beside it in a clone only, where `npm ci` alone has built nothing yet.
if (existsSync(new URL("../src", import.meta.url))) {
  const { buildStale } = await import("../../scripts/build-stale.mjs");
  await buildStale();
}
await import("../dist/millrace.js");
