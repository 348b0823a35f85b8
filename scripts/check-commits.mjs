// Fails for a commit whose subject is longer than 72 characters, begins with a small letter or a prefix such as
// "fix:", or ends with a period: `npm run check:commits`. Subjects in the imperative are for people to see to.
import { spawnSync } from "node:child_process";

/** The last commit before the rule. */
const before = "2b53d8eac7e6dabbc2d0de03b784ddad596fcf2f";
const longest = 72;

const git = (...args) => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
};

if (git("rev-parse", "--is-inside-work-tree") !== "true") {
  console.log("not a clone: there are no commits to check");
} else {
  // A shallow clone lacks it: all commits that are there are newer.
  const range = git("cat-file", "-e", before) === undefined ? "HEAD" : `${before}..HEAD`;
  const lines = (git("log", "--no-merges", "--format=%h %s", range) ?? "")
    .split("\n")
    .filter(Boolean);
  const faults = lines.flatMap((line) => {
    const subject = line.slice(line.indexOf(" ") + 1);
    const fault = faultOf(subject);
    return fault === undefined ? [] : [`${line}\n  ${fault}`];
  });
  console.log(`${lines.length} commits, ${faults.length} faults`);
  faults.forEach((fault) => console.error(fault));
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function faultOf(subject) {
  if (subject.length > longest) {
    return `${subject.length} characters: at most ${longest}`;
  }
  if (!/^[A-Z`]/.test(subject) || /^\w+(\(.*\))?:/.test(subject)) {
    return "begin with a verb and a capital letter, without a prefix";
  }
  return subject.endsWith(".") ? "no period at the end" : undefined;
}
