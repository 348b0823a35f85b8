import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import type { ImportFlags } from "../imports/import-options.ts";
import { addServerFlags } from "../local-server/server-flags.ts";

/** Adds `millrace import`. `onPartialSuccess` is called if some rows were not imported. */
export function addImport(
  program: Command,
  { env, onPartialSuccess }: { env: NodeJS.ProcessEnv; onPartialSuccess: () => void },
): void {
  const command = program
    .command("import")
    .description("Copy projects, runs, datasets, feedback and prompts from LangSmith or Langfuse.")
    .requiredOption("--from <product>", "product to import from: langsmith or langfuse")
    .requiredOption("--from-url <url>", "base URL of the product's API")
    .option("--project <name...>", "import runs and feedback of these projects only")
    .option("--since <time>", "import runs that started at this time or later")
    .option("--until <time>", "import runs that started before this time (default: now)")
    .option(
      "--only <kinds>",
      "kinds of data to import, from projects,datasets,runs,feedback,prompts (default: all)",
    )
    .option(
      "--checkpoint <file>",
      "file that records the progress, to resume from (default: in this folder)",
    )
    .option("--no-checkpoint", "don't record the progress")
    .option("--dry-run", "read and count everything without writing anything")
    .option("--json", "print the result as JSON");
  addHelpExamples(command, [
    "LANGSMITH_API_KEY=… millrace import --from langsmith --from-url https://api.smith.langchain.com",
    "millrace import --from langfuse --from-url https://cloud.langfuse.com --dry-run",
    "millrace import --from langsmith --from-url https://eu.api.smith.langchain.com --project support --since 2026-01-01",
  ]);
  command.addHelpText(
    "after",
    `
The key of the source is read from LANGSMITH_API_KEY (and LANGSMITH_WORKSPACE_ID),
or from LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY. --endpoint and
MILLRACE_ENDPOINT name the server to import to, --api-key and MILLRACE_API_KEY
its key. An interrupted import continues when the same command runs again.`,
  );
  addServerFlags(command).action(async (flags: ImportFlags) => {
    // Load this module on demand, because only this command needs the importers.
    const { runImport } = await import("../imports/run-import.ts");
    if ((await runImport(flags, env)) > 0) {
      onPartialSuccess();
    }
  });
}
