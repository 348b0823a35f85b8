// Builds what is not built, then runs examples/ask-the-docs against a local server: `npm start`.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const example = "examples/ask-the-docs";

const usage = `Usage: npm start -- [options]

Builds what is not built, starts the local server, and records a real program into it.

  --once        end after the workload; exit code 0 only if nothing is missing
  --runs N      record at least N runs (default 20000)
  --port N      port of the server (default 1984; a free one where it is in use)
  --data PATH   folder of the server's data (default .millrace in the project)
  --help        print this
`;

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

/** In the order in which they need each other. A folder without sources is not there yet. */
const projects = [
  { name: "SDK", folder: ".", from: ["src", "tsconfig.build.json"], to: "dist/main/index.js" },
  { name: "server", folder: "server", from: ["src", "tsconfig.build.json"], to: "dist/index.js" },
  { name: "command", folder: "cli", from: ["src", "tsconfig.build.json"], to: "dist/millrace.js" },
  { name: "example", folder: example, from: ["."], to: "dist/main.js", config: "tsconfig.json" },
  {
    name: "web interface",
    folder: "web",
    from: ["src", "public", "index.html", "package.json", "vite.config.ts"],
    to: "../server/dist/web/index.html",
    script: "build",
  },
];

const run = async () => {
  const options = readOptions();
  for (const project of projects) {
    buildIfStale(project);
  }
  const { main } = await import(pathToFileURL(join(root, example, "dist/main.js")).href);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      if (stopping.signal.aborted) {
        // Asked twice: the end comes now, with what was delivered so far.
        process.exit(130);
      }
      console.log("\nStopping: what was recorded is delivered, then the server closes.");
      stopping.abort();
    });
  }
  process.exitCode = await main({ root, signal: stopping.signal, ...options });
};

const readOptions = () => {
  try {
    const { values } = parseArgs({
      options: {
        once: { type: "boolean", default: false },
        runs: { type: "string", default: "20000" },
        port: { type: "string", default: "1984" },
        data: { type: "string", default: join(root, ".millrace") },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    return {
      once: values.once,
      runs: readNumber("runs", values.runs, { min: 1, max: 10_000_000 }),
      port: readNumber("port", values.port, { min: 0, max: 65_535 }),
      dataDir: resolve(values.data),
    };
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
};

const readNumber = (name, text, { min, max }) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new RangeError(`--${name} is a whole number from ${min} to ${max}, not ${text}`);
  }
  return value;
};

/** Builds a package unless what it makes last is newer than all that it is made from. */
const buildIfStale = ({ name, folder, from, to, config = "tsconfig.build.json", script }) => {
  const home = join(root, folder);
  const built = statSync(join(home, to), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (built >= Math.max(...from.map((source) => newestMtimeMs(join(home, source))))) {
    return;
  }
  process.stdout.write(`Building the ${name} … `);
  const start = performance.now();
  const result =
    script === undefined
      ? spawnSync(process.execPath, [tsc, "-p", join(home, config)], { encoding: "utf8" })
      : spawnSync("npm", ["run", script], { cwd: home, encoding: "utf8", shell: true });
  if (result.status !== 0) {
    console.error(`failed.\n${result.stdout}${result.stderr}`);
    process.exit(1);
  }
  console.log(`${((performance.now() - start) / 1_000).toFixed(1)} s`);
};

/** When a file, or the newest file below a folder, was written; 0 where there is none. */
const newestMtimeMs = (path) => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) {
    return stats?.mtimeMs ?? 0;
  }
  return readdirSync(path)
    .filter((name) => name !== "dist" && name !== "node_modules")
    .reduce((newest, name) => Math.max(newest, newestMtimeMs(join(path, name))), 0);
};

try {
  await run();
} catch (error) {
  console.error(`npm start: ${String(error)}`);
  process.exit(1);
}
