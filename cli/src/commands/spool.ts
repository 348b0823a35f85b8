import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import type { SpoolFault, SpoolFile } from "millrace/spool";
import { toPrintable } from "../to-printable.ts";

/** Adds `millrace spool inspect|verify`. */
export function addSpool(program: Command): void {
  const spool = program
    .command("spool")
    .description("Inspect a spool folder (client option spoolDir) without changing it.");
  addHelpExamples(spool, ["millrace spool inspect ./spool", "millrace spool verify ./spool"]);
  addHelpExamples(spool.command("inspect"), [
    "millrace spool inspect ./spool",
    "millrace spool inspect ./spool --json",
  ])
    .description("List the files with their state, their records, and why the server refused them.")
    .argument("<folder>", "spool folder: the client's option spoolDir")
    .option("--json", "print one JSON object per file")
    .action(async (folder: string, { json }: { json?: true }) => {
      const files = await inspect(folder);
      const lines =
        json === true ? files.map((file) => JSON.stringify(file)) : files.map(formatFile);
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  addHelpExamples(spool.command("verify"), ["millrace spool verify ./spool"])
    .description("Check that every byte of the spool can be read; fail if any can't.")
    .argument("<folder>", "spool folder: the client's option spoolDir")
    .action(async (folder: string) => {
      const files = await inspect(folder);
      for (const { path, faults } of files) {
        for (const fault of faults) {
          process.stdout.write(`${path}: ${formatFault(fault)}\n`);
        }
      }
      const faultyCount = files.filter(({ faults }) => faults.length > 0).length;
      if (faultyCount > 0) {
        throw new Error(
          `${faultyCount} of ${files.length} files contain unreadable data; "millrace replay" sends the rest`,
        );
      }
      process.stdout.write(`${files.length} files, ${countRecords(files)} records, all intact\n`);
    });
}

/** Inspects a spool folder. The module is loaded on demand, so that other commands start faster. */
async function inspect(folder: string): Promise<readonly SpoolFile[]> {
  const { inspectSpool } = await import("millrace/spool");
  return inspectSpool(folder);
}

const countRecords = (files: readonly SpoolFile[]): number =>
  files.reduce((sum, { records }) => sum + records, 0);

function formatFault({ is, at, bytes, reason }: SpoolFault): string {
  if (is === "unreadable") {
    return `can't be read: ${toPrintable(reason ?? "unknown reason")}`;
  }
  const size = bytes === undefined ? "" : `, ${bytes} bytes`;
  return `${is} at byte ${at}${size}`;
}

function formatFile({ path, state, bytes, records, faults, notes }: SpoolFile): string {
  const faultsText = faults.length === 0 ? "" : `  ${faults.length} faults`;
  const line = `${path}  ${state}  ${bytes} bytes  ${records} records${faultsText}`;
  const noteLines = notes.flatMap(({ refused, reason }) => [
    ...refused.map(({ runId, message }) => `  ${runId}  ${JSON.stringify(message)}`),
    // Text from a server may contain control characters; as JSON it can't move the terminal's cursor.
    ...(reason === undefined ? [] : [`  ${JSON.stringify(reason)}`]),
  ]);
  return [line, ...noteLines].join("\n");
}
