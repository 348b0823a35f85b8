// Every gate, in order, with the time each takes: `npm run check`. A gate is a script of package.json.
// A failed build ends the run, because the gates after it read what it makes; after any other failure
// the rest still report. `--without NAME` leaves a gate out, for whoever runs it elsewhere.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";

const gates = [
  "check:format",
  "build",
  "lint",
  "typecheck",
  "test",
  "check:unused",
  "check:package",
  "check:exports",
  "check:api",
];
const { values: flags } = parseArgs({
  options: { without: { type: "string", multiple: true, default: [] } },
});
const unknown = flags.without.filter((name) => !gates.includes(name));
if (unknown.length > 0) {
  throw new Error(`no such gate: ${unknown.join(", ")}; there are ${gates.join(", ")}`);
}

const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const results = [];
for (const name of gates.filter((gate) => !flags.without.includes(gate))) {
  console.log(`\n== ${name}: ${scripts[name]}`);
  const start = performance.now();
  const passed = spawnSync(scripts[name], { stdio: "inherit", shell: true }).status === 0;
  results.push({ name, passed, seconds: (performance.now() - start) / 1_000 });
  if (name === "build" && !passed) {
    break;
  }
}

console.log("");
for (const { name, passed, seconds } of results) {
  const time = seconds.toFixed(1).padStart(6);
  console.log(`${passed ? "ok    " : "FAILED"} ${name.padEnd(13)} ${time} s`);
}
if (results.some(({ passed }) => !passed)) {
  process.exitCode = 1;
}
