// Installs the packages of `tests/latest` if its lock file has changed since they were installed: `npm run test:latest`.
// They are a package of their own because several newest releases demand a newer Node than this repository, which
// enforces `engines`, although they also run on the oldest supported one.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../tests/latest", import.meta.url));

/**
 * The version of each package in a lock file. npm writes the same list into `node_modules`, without the package itself.
 */
const versionsIn = (path) => {
  const { packages } = JSON.parse(readFileSync(path, "utf8"));
  return JSON.stringify(
    Object.entries(packages)
      .filter(([name]) => name !== "")
      .map(([name, { version }]) => `${name} ${version}`)
      .toSorted((left, right) => (left < right ? -1 : 1)),
  );
};

const installed = `${folder}/node_modules/.package-lock.json`;
if (!existsSync(installed) || versionsIn(installed) !== versionsIn(`${folder}/package-lock.json`)) {
  // `npm run` passes the settings of the repository, such as `engine-strict`, to an npm that a script starts.
  const { status } = spawnSync("npm", ["ci", "--no-engine-strict", "--loglevel=error"], {
    cwd: folder,
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
