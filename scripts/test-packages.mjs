// Tries the packages as a stranger would, on every release of Node that they promise: `npm run test:packages`.
// `npm test` does the same on the Node at hand. The releases are npm packages of their own, for Linux on x64.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const nodes = join(root, "tests/consumer/nodes");

/** Whether a command failed. */
const fails = (command, args, env = {}) =>
  spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } })
    .status !== 0;

if (fails("npm", ["ci", "--prefix", nodes, "--no-audit", "--no-fund"])) {
  console.error("The releases of Node can't be installed: they are there for Linux on x64 only.");
  process.exit(1);
}
const { dependencies } = JSON.parse(readFileSync(join(nodes, "package.json"), "utf8"));
const failed = Object.entries(dependencies).filter(([name, release]) => {
  const version = release.replace(/^.*@/, "v");
  console.log(`\n== Node ${version}`);
  const vitest = ["vitest", "run", "tests/consumer/installed-packages.test.ts"];
  return fails("npx", vitest, {
    MILLRACE_TEST_NODE: join(nodes, "node_modules", name, "bin/node"),
    MILLRACE_TEST_NODE_VERSION: version,
  });
});
for (const [, release] of failed) {
  console.error(`FAILED on Node ${release.replace(/^.*@/, "v")}`);
}
process.exitCode = failed.length === 0 ? 0 : 1;
