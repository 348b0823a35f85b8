import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Command-line options for node itself. */
  readonly nodeArguments?: readonly string[];
  /** The module that exports `Client`. @defaultValue the entry of the built package */
  readonly entry?: string;
  /** The source of a module to load before the program, and whether `NODE_OPTIONS` or a command-line argument loads it. */
  readonly preload?: { readonly source: string; readonly by: "NODE_OPTIONS" | "argument" };
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly output: string;
  readonly durationMs: number;
}

const dist = new URL("../../dist/main/index.js", import.meta.url).href;

/** Runs a program with `Client` in scope as a separate process. Resolves when it ends; it is killed after 60 s. */
export async function runProgram(
  source: string,
  { env = {}, preload, nodeArguments = [], entry = dist }: ProgramOptions = {},
): Promise<ProgramEnd> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-program-"));
  const path = join(folder, "program.mjs");
  const preloaded = join(folder, "preload.mjs");
  const clientImport = `import { Client } from ${JSON.stringify(entry)};\n`;
  await writeFile(path, clientImport + source);
  await writeFile(preloaded, clientImport + (preload?.source ?? ""));
  const options = preload?.by === "NODE_OPTIONS" ? { NODE_OPTIONS: `--import=${preloaded}` } : {};
  const imports = preload?.by === "argument" ? ["--import", preloaded] : [];
  const args = [...nodeArguments, ...imports, path];
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...options, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  let output = "";
  const appendOutput = (chunk: string): void => {
    output += chunk;
  };
  child.stdout.setEncoding("utf8").on("data", appendOutput);
  child.stderr.setEncoding("utf8").on("data", appendOutput);
  const [code] = (await once(child, "close")) as [number | null];
  const durationMs = performance.now() - began;
  await rm(folder, { recursive: true });
  return { code, output, durationMs };
}
