// Writes src/workers/json-module.ts, the module that wasm/*.ts is: npm run wasm
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { main } from "assemblyscript/asc";

const sources = ["memory", "run", "text", "value"];

/**
 * @param {import("./wasm.mjs").Layout} layout
 * @returns {Promise<string>}
 */
export async function renderModule(layout) {
  const base64 = Buffer.from(await compiled(layout)).toString("base64");
  const lines = base64.match(/.{1,90}/g).map((line) => `  "${line}",`);
  return `// Written by \`npm run wasm\`, of wasm/*.ts and of where things are on a tape.
/** The bytes of the module, base64. */
export const jsonModule: string = [
${lines.join("\n")}
].join("");
`;
}

/** @param {import("./wasm.mjs").Layout} layout */
async function compiled(layout) {
  const files = new Map(sources.map((name) => [`${name}.ts`, sourceOf(name)]));
  files.set("layout.ts", layoutSource(layout));
  const written = new Map();
  const told = [];
  const { error } = await main(
    [
      "run.ts",
      "--outFile=run.wasm",
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
  return written.get("run.wasm");
}

const sourceOf = (name) => readFileSync(new URL(`../wasm/${name}.ts`, import.meta.url), "utf8");

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
  const tape = await import("../dist/model/tape-format.js");
  const { stampLength, uuidLength } = await import("../dist/model/dotted-order.js");
  const file = new URL("../src/workers/json-module.ts", import.meta.url);
  writeFileSync(file, await renderModule({ ...layoutOf(tape), stampLength, uuidLength }));
}

function layoutOf({ field, tag, headOffset, fieldCodes, fieldHead, recordHead, longestShortText }) {
  return { field, tag, headOffset, fieldCodes, fieldHead, recordHead, longestShortText };
}
