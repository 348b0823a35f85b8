// Builds what is not built, then runs examples/ask-the-docs against a local server: `npm start`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
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
  { name: "SDK", folder: ".", sources: "src", config: "tsconfig.build.json" },
  { name: "server", folder: "server", sources: "src", config: "tsconfig.build.json" },
  { name: "command", folder: "cli", sources: "src", config: "tsconfig.build.json" },
  { name: "web interface", folder: "web", sources: "src", script: "build" },
  { name: "example", folder: example, sources: ".", config: "tsconfig.json" },
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

const buildIfStale = ({ name, folder, sources, config = "package.json", script }) => {
  const home = join(root, folder);
  if (script !== undefined && !hasScript(home, script)) {
    return;
  }
  const source = newestMtimeMs(join(home, sources), /\.(tsx?|css|json)$/);
  const settings = statSync(join(home, config), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = newestMtimeMs(join(home, "dist"), /\.js$/);
  if (source === 0 || built >= Math.max(source, settings)) {
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

const hasScript = (home, script) => {
  const { scripts = {} } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return script in scripts;
};

/** When the newest matching file below a folder was written; 0 where there is none. */
const newestMtimeMs = (folder, pattern) => {
  if (!existsSync(folder)) {
    return 0;
  }
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "dist" && entry.name !== "node_modules") {
      newest = Math.max(newest, newestMtimeMs(path, pattern));
    } else if (entry.isFile() && pattern.test(entry.name)) {
      newest = Math.max(newest, statSync(path).mtimeMs);
    }
  }
  return newest;
};

try {
  await run();
} catch (error) {
  console.error(`npm start: ${String(error)}`);
  process.exit(1);
}
