// Tests the packed packages as a program installs them, on every supported release of Node: `npm run test:packages`.
// `npm test` does the same on the running Node only. The releases of Node are npm packages, for Linux x64 only.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const nodesFolder = join(root, "tests/consumer/nodes");

/** Runs a command and returns whether it failed. */
const hasFailed = (command, args, env = {}) =>
  spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } })
    .status !== 0;

if (hasFailed("npm", ["ci", "--prefix", nodesFolder, "--no-audit", "--no-fund"])) {
  console.error("Failed to install the releases of Node: they are available for Linux x64 only.");
  process.exit(1);
}
const { dependencies } = JSON.parse(readFileSync(join(nodesFolder, "package.json"), "utf8"));
const failedReleases = Object.entries(dependencies).filter(([name, release]) => {
  const version = release.replace(/^.*@/, "v");
  console.log(`\n== Node ${version}`);
  const vitest = ["vitest", "run", "tests/consumer/installed-packages.test.ts"];
  return hasFailed("npx", vitest, {
    MILLRACE_TEST_NODE: join(nodesFolder, "node_modules", name, "bin/node"),
    MILLRACE_TEST_NODE_VERSION: version,
  });
});
for (const [, release] of failedReleases) {
  console.error(`FAILED on Node ${release.replace(/^.*@/, "v")}`);
}
process.exitCode = failedReleases.length === 0 ? 0 : 1;
