/**
 * Bundles the programs of the measured processes as JavaScript. A TypeScript loader in them would take 80 MB and time.
 */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const childNames = [
  "child",
  "load-child",
  "upload-child",
  "evaluate-child",
  "repeated-child",
  "ingest-child",
  "cluster-child",
  "service-child",
  "requests-child",
  "integrations-child",
  "model-api",
  "sink",
] as const;
export type ChildName = (typeof childNames)[number];

/** A folder inside this package, so that Node finds the package's dependencies from there. */
const folder = fileURLToPath(new URL("temp/", import.meta.url));

let buildResult: Promise<unknown> | undefined;

/**
 * Returns the bundled file of a child. The first call bundles all of them. Drivers are separate chunks, so that a process
 * loads only the driver that it measures.
 */
export async function bundleChild(name: ChildName): Promise<string> {
  buildResult ??= build({
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
  await buildResult;
  return `${folder}${name}.mjs`;
}
