// Builds what is missing or outdated, for `npm start` and for `npx millrace` in a clone of the repository.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { transpile } from "./transpile.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The sources of the UI, and the file that its build writes last. */
const web = {
  from: ["src", "public", "index.html", "package.json", "vite.config.ts"].map((name) =>
    join(root, "web", name),
  ),
  to: join(root, "server/dist/web/index.html"),
};

/**
 * Builds the JavaScript of SDK, server, command and example, and the UI, if they are older than their sources. Writes
 * its messages to stderr, because stdout belongs to the command that needed the build. Ends the process if building the
 * UI fails.
 */
export const buildStale = async () => {
  const start = performance.now();
  if (await transpile()) {
    reportBuilt("the SDK, the server and the command", start);
  }
  if (newestMtimeMs(web.to) < Math.max(...web.from.map(newestMtimeMs))) {
    const startOfWeb = performance.now();
    buildWeb();
    reportBuilt("the UI", startOfWeb);
  }
};

const reportBuilt = (what, start) => {
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  process.stderr.write(`Built ${what} in ${seconds} s\n`);
};

const buildWeb = () => {
  const { status, stdout, stderr } = spawnSync("npm", ["run", "build"], {
    cwd: join(root, "web"),
    encoding: "utf8",
    shell: true,
  });
  if (status !== 0) {
    process.stderr.write(`Failed to build the UI.\n${stdout}${stderr}`);
    process.exit(1);
  }
};

/** Returns when a file, or the newest file in a folder, was written, or 0 if there is none. */
const newestMtimeMs = (path) => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) {
    return stats?.mtimeMs ?? 0;
  }
  return readdirSync(path).reduce(
    (newest, name) => Math.max(newest, newestMtimeMs(join(path, name))),
    0,
  );
};
