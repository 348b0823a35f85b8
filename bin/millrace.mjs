#!/usr/bin/env node
// The command `millrace` of the SDK: runs that of @millrace/cli, where it is installed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const cliName = "@millrace/cli";

/** The package.json of the CLI: as the user's folder has it, else as the SDK's own folder has it. */
const findCli = () => {
  for (const from of [join(process.cwd(), "package.json"), import.meta.url]) {
    try {
      return createRequire(from).resolve(`${cliName}/package.json`);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") {
        throw error;
      }
    }
  }
  return undefined;
};

const manifestPath = findCli();
if (manifestPath === undefined) {
  process.stderr
    .write(`error: the command millrace is in the package ${cliName}, which is not installed here.
Install it in this folder, then run the same command again:

  npm install --save-dev ${cliName}

Or run it without installing it: npx ${cliName}
`);
  process.exitCode = 1;
} else {
  const { bin } = JSON.parse(readFileSync(manifestPath, "utf8"));
  await import(new URL(bin.millrace, pathToFileURL(manifestPath)).href);
}
