import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderWalk } from "../scripts/wasm.mjs";
import * as layout from "../server/src/runs/ingest/walk-layout.ts";
import { serverLimits } from "../server/src/model/options.ts";
import { stampLength, uuidLength } from "../src/model/dotted-order.ts";

test("walk-module.ts matches the compiled wasm/walk", { timeout: 60_000 }, async () => {
  const file = new URL("../server/src/runs/ingest/walk-module.ts", import.meta.url);
  const limits = { depthMax: serverLimits.jsonDepth, stampLength, uuidLength };
  expect(readFileSync(file, "utf8")).toBe(await renderWalk({ ...layout, ...limits }));
});
