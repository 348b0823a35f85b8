// Writes the modules that wasm/ is, as text: npm run wasm
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { main } from "assemblyscript/asc";

/** The SDK's worker writes JSON with it. */
const json = {
  folder: "../wasm/",
  sources: ["memory", "run", "text", "value"],
  entry: "run",
  head: "// Written by `npm run wasm`, of wasm/*.ts and of where things are on a tape.",
  name: "jsonModule",
};
/** The server walks over batches with it. */
const walk = {
  folder: "../wasm/walk/",
  sources: ["batch", "forms", "json", "memory", "names", "post", "run", "texts"],
  entry: "batch",
  head: "// Written by `npm run wasm`, of wasm/walk/*.ts and of walk-layout.ts.",
  name: "walkModule",
};

/**
 * @param {import("./wasm.mjs").Layout} layout
 * @returns {Promise<string>}
 */
export const renderModule = (layout) => render(json, layout);

/**
 * @param {import("./wasm.mjs").Layout} layout
 * @returns {Promise<string>}
 */
export const renderWalk = (layout) => render(walk, layout);

async function render(module, layout) {
  const base64 = Buffer.from(await compiled(module, layout)).toString("base64");
  const lines = base64.match(/.{1,90}/g).map((line) => `  "${line}",`);
  return `${module.head}
/** The bytes of the module, base64. */
export const ${module.name}: string = [
${lines.join("\n")}
].join("");
`;
}

async function compiled({ folder, sources, entry }, layout) {
  const sourceOf = (name) => readFileSync(new URL(`${folder}${name}.ts`, import.meta.url), "utf8");
  const files = new Map(sources.map((name) => [`${name}.ts`, sourceOf(name)]));
  files.set("layout.ts", layoutSource(layout));
  const written = new Map();
  const told = [];
  const { error } = await main(
    [
      `${entry}.ts`,
      `--outFile=${entry}.wasm`,
      "-O3",
      "--converge",
      "--noAssert",
      "--runtime=stub",
      "--enable=simd",
      "--use=abort=",
    ],
    {
      readFile: (name) => files.get(name) ?? null,
      writeFile: (name, contents) => {
        written.set(name, contents);
      },
      listFiles: () => [],
      stderr: { write: (text) => told.push(text) },
    },
  );
  if (error !== null) {
    throw new Error(`wasm/ does not compile: ${told.join("")}`, { cause: error });
  }
  return written.get(`${entry}.wasm`);
}

/** The constants that both sides read: numbers, and groups of numbers. */
const layoutSource = (layout) =>
  Object.entries(layout)
    .map(([name, value]) =>
      typeof value === "number"
        ? constant(name, value)
        : `export namespace ${name} {\n${Object.entries(value)
            .map(([key, number]) => constant(key, number))
            .join("\n")}\n}`,
    )
    .join("\n");

/** Words of the language have an underscore behind them. */
const constant = (name, value) =>
  `export const ${["null", "false", "true"].includes(name) ? `${name}_` : name}: u32 = ${value};`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { stampLength, uuidLength } = await import("../dist/model/dotted-order.js");
  const tape = await import("../dist/model/records/tape-format.js");
  const layout = await import("../server/dist/runs/ingest/walk-layout.js");
  const { serverLimits } = await import("../server/dist/model/options.js");
  await write(
    "../src/workers/json/json-module.ts",
    renderModule({ ...layoutOf(tape), stampLength, uuidLength }),
  );
  await write(
    "../server/src/runs/ingest/walk-module.ts",
    renderWalk({ ...layout, depthMax: serverLimits.jsonDepth, stampLength, uuidLength }),
  );
}

async function write(file, rendered) {
  writeFileSync(new URL(file, import.meta.url), await rendered);
}

function layoutOf({ field, tag, headOffset, fieldCodes, fieldHead, recordHead, longestShortText }) {
  return { field, tag, headOffset, fieldCodes, fieldHead, recordHead, longestShortText };
}
