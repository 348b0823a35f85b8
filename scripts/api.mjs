// Compares the public API with the reports in config/api, one for each entry point of package.json. With `--local` it
// updates the reports instead; commit the changes.
import { mkdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";

const isLocal = process.argv.includes("--local");
const configFile = resolve("config/api-extractor.json");
const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
const stale = [];

mkdirSync("config/api", { recursive: true });
for (const [path, { types }] of Object.entries(exports)) {
  if (types === undefined) {
    continue;
  }
  const name = path === "." ? "main" : path.slice("./".length).replaceAll("/", "-");
  const config = ExtractorConfig.loadFile(configFile);
  config.mainEntryPointFilePath = resolve(types);
  config.apiReport.reportFileName = name;
  if (!["main", "model"].includes(name)) {
    // The other entry points refer to types that `millrace` or `millrace/model` exports.
    config.messages.extractorMessageReporting["ae-forgotten-export"] = {
      logLevel: ExtractorLogLevel.None,
    };
  }
  const { succeeded } = Extractor.invoke(
    ExtractorConfig.prepare({
      configObject: config,
      configObjectFullPath: configFile,
      packageJsonFullPath: resolve("package.json"),
    }),
    { localBuild: isLocal, printApiReportDiff: !isLocal },
  );
  if (!succeeded) {
    stale.push(name);
  }
}

if (stale.length > 0) {
  console.error(
    `The public API differs from its report for: ${stale.join(", ")}. If that is intended, run: npm run api`,
  );
  process.exitCode = 1;
}
