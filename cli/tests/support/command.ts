import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** Path of the command's script. */
export const script = fileURLToPath(new URL("../../dist/millrace.js", import.meta.url));

/** Starts the command in a separate process, in this process's folder or another one. */
export function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, MILLRACE_API_KEY: "", ...env },
    cwd,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Waits until the command has exited, and returns its output. */
export async function ended(child: ChildProcessWithoutNullStreams): Promise<CommandResult> {
  let output = "";
  let errors = "";
  // A character may be divided between two chunks.
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output, errors };
}

/** Removes the progress lines, which are printed only if a busy machine takes more than five seconds. */
export const withoutProgress = (errors: string): string =>
  errors.replaceAll(/^.* rows\/s.*\n/gm, "");

export async function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  return chunk.toString();
}

export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "millrace-cli-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Returns the URL in a line. */
export const addressOf = (line: string): string => /http:\/\/\S+/.exec(line)?.[0] ?? "";
