/** The processes that are measured, as JavaScript: a loader in them would cost them 80 MB and time. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const childNames = [
  "child",
  "load-child",
  "upload-child",
  "repeated-child",
  "ingest-child",
  "sink",
] as const;
export type ChildName = (typeof childNames)[number];

/** Below this package, so that what it depends on is found from there. */
const folder = fileURLToPath(new URL("temp/", import.meta.url));

let built: Promise<unknown> | undefined;

/** The file of a child. All are bundled at the first call: drivers apart, so that each is loaded only where it is measured. */
export async function bundled(name: ChildName): Promise<string> {
  built ??= build({
    entryPoints: childNames.map((child) => `${child}.ts`),
    absWorkingDir: import.meta.dirname,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
  await built;
  return `${folder}${name}.mjs`;
}
