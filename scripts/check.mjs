// Runs all checks ("gates") and prints the time that each takes: `npm run check`. A gate is a script of package.json. A
// failed build ends the run, because the later gates read its output; after any other failure the remaining gates still
// run. `--without NAME` skips a gate, for example in CI where another job runs it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";

const gates = [
  "build",
  "typecheck",
  "lint",
  "check:format",
  "check:commits",
  "check:unused",
  "check:package",
  "check:exports",
  "check:api",
  "test",
];
const { values: flags } = parseArgs({
  options: { without: { type: "string", multiple: true, default: [] } },
});
const unknown = flags.without.filter((name) => !gates.includes(name));
if (unknown.length > 0) {
  throw new Error(`Unknown gate: ${unknown.join(", ")}; the gates are ${gates.join(", ")}`);
}

const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const selectedGates = gates.filter((gate) => !flags.without.includes(gate));
const results = [];
// The build runs first, because most other gates read its output. The tests run last and alone, because some of them
// depend on the timing of threads. All other gates run in parallel, as many at a time as there are cores.
if (!selectedGates.includes("build") || (await run("build"))) {
  const waiting = selectedGates.filter((name) => !["build", "test"].includes(name));
  const runNext = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      await run(name);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runNext));
  if (selectedGates.includes("test")) {
    await run("test");
  }
}

/** Runs a gate and prints its output when it has ended. Returns whether it passed. */
async function run(name) {
  const start = performance.now();
  const gate = spawn(scripts[name], { stdio: ["ignore", "pipe", "pipe"], shell: true });
  const output = [];
  for (const stream of [gate.stdout, gate.stderr]) {
    stream.on("data", (chunk) => output.push(chunk));
  }
  const [code] = await once(gate, "close");
  results.push({ name, passed: code === 0, seconds: (performance.now() - start) / 1_000 });
  console.log(`\n== ${name}: ${scripts[name]}\n${Buffer.concat(output).toString()}`);
  return code === 0;
}

console.log("");
for (const { name, passed, seconds } of results) {
  const time = seconds.toFixed(1).padStart(6);
  console.log(`${passed ? "ok    " : "FAILED"} ${name.padEnd(13)} ${time} s`);
}
if (results.some(({ passed }) => !passed)) {
  process.exitCode = 1;
}
