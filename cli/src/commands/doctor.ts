import type { Command } from "commander";
import type { Check } from "../doctor/check.ts";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { DoctorFlags } from "../local-server/settings.ts";

/** Adds `millrace doctor`. `onFailed` is called if a check failed. */
export function addDoctor(
  program: Command,
  { env, onFailed }: { readonly env: NodeJS.ProcessEnv; readonly onFailed: () => void },
): void {
  const command = program
    .command("doctor")
    .description("Check the connection between a program and its server, and suggest fixes.")
    .option("--spool-dir <folder>", "spool folder; also MILLRACE_SPOOL_DIR")
    .option("--project <name>", "project of the test run that is sent and read back", "doctor")
    .option("--json", "print the checks as JSON");
  addHelpExamples(command, [
    "millrace doctor",
    "millrace doctor --endpoint https://traces.example.com --json",
  ]);
  addServerFlags(command).action(async (flags: DoctorFlags) => {
    const { checkAll } = await import("../doctor/check-all.ts");
    const checks: Check[] = [];
    for await (const check of checkAll(flags, env)) {
      checks.push(check);
      if (flags.json !== true) {
        process.stdout.write(formatCheck(check));
      }
    }
    const isOk = checks.every(({ status }) => status !== "failed");
    if (flags.json === true) {
      process.stdout.write(`${JSON.stringify({ ok: isOk, checks }, undefined, 2)}\n`);
    } else {
      process.stdout.write(`\n${formatSummary(checks)}\n`);
    }
    if (!isOk) {
      onFailed();
    }
  });
}

const nameWidth = 10;

const formatCheck = ({ name, status, found, todo }: Check): string =>
  [
    `${status.padEnd(7)}  ${name.padEnd(nameWidth)}${found}`,
    ...(todo === undefined ? [] : [`${" ".repeat(9 + nameWidth)}${todo}`]),
  ]
    .map((line) => `${line}\n`)
    .join("");

function formatSummary(checks: readonly Check[]): string {
  const countChecks = (status: Check["status"]): number =>
    checks.filter((check) => check.status === status).length;
  const failedCount = countChecks("failed");
  return failedCount === 0
    ? `No check failed${countChecks("warning") === 0 ? "." : `; ${countChecks("warning")} with a warning.`}`
    : `${failedCount} of ${checks.length} checks failed.`;
}
