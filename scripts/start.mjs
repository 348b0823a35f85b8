// Builds everything that is missing or outdated, then runs examples/ask-the-docs against a local server: `npm start`.
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { buildStale } from "./build-stale.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const example = "examples/ask-the-docs";

const usage = `Usage: npm start -- [options]

Builds everything that is missing or outdated, starts the local server, and records the runs of an example program.

  --once        exit after the workload; exit code 0 only if no run is missing
  --runs N      record at least N runs (default 20000)
  --port N      port of the server (default 1984; a free port if it is in use)
  --data PATH   folder of the server's data (default .millrace in the project)
  --help        print this help
`;

const run = async () => {
  const options = readOptions();
  await buildStale();
  const { main } = await import(pathToFileURL(join(root, example, "dist/main.js")).href);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      if (stopping.signal.aborted) {
        // A second signal exits at once, without delivering the remaining runs.
        process.exit(130);
      }
      console.log("\nStopping: delivering the recorded runs, then closing the server.");
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
    throw new RangeError(`--${name} must be a whole number from ${min} to ${max}, not ${text}`);
  }
  return value;
};

try {
  await run();
} catch (error) {
  console.error(`npm start: ${String(error)}`);
  process.exit(1);
}
