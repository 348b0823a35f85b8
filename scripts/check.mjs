// Every gate, with the time each takes: `npm run check`. A gate is a script of package.json.
// A failed build ends the run, because the gates after it read what it makes; after any other failure
// the rest still report. `--without NAME` leaves a gate out, for whoever runs it elsewhere.
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
  throw new Error(`no such gate: ${unknown.join(", ")}; there are ${gates.join(", ")}`);
}

const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const chosen = gates.filter((gate) => !flags.without.includes(gate));
const results = [];
// The build first, since most of the rest read it, and the tests last, alone, since some of them wait for
// threads; between them as many at a time as there are cores.
if (!chosen.includes("build") || (await run("build"))) {
  const waiting = chosen.filter((name) => !["build", "test"].includes(name));
  const next = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      await run(name);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
  if (chosen.includes("test")) {
    await run("test");
  }
}

/** Runs a gate and, when it has ended, shows what it printed. */
async function run(name) {
  const start = performance.now();
  const gate = spawn(scripts[name], { stdio: ["ignore", "pipe", "pipe"], shell: true });
  const printed = [];
  for (const stream of [gate.stdout, gate.stderr]) {
    stream.on("data", (chunk) => printed.push(chunk));
  }
  const [code] = await once(gate, "close");
  results.push({ name, passed: code === 0, seconds: (performance.now() - start) / 1_000 });
  console.log(`\n== ${name}: ${scripts[name]}\n${Buffer.concat(printed).toString()}`);
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
