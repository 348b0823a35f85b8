// Fails if the subject of a commit is longer than 72 characters, begins with a lower-case letter or a prefix such as
// "fix:", or ends with a period: `npm run check:commits`. Whether a subject is in the imperative is left to reviewers.
import { spawnSync } from "node:child_process";

/** The last commit before this rule was introduced. Only later commits are checked. */
const lastUncheckedCommit = "2b53d8eac7e6dabbc2d0de03b784ddad596fcf2f";
const maxSubjectLength = 72;

const git = (...args) => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
};

if (git("rev-parse", "--is-inside-work-tree") !== "true") {
  console.log("This folder is not a git clone: there are no commits to check");
} else {
  // A shallow clone may not contain that commit. All of its commits are then newer.
  const range =
    git("cat-file", "-e", lastUncheckedCommit) === undefined
      ? "HEAD"
      : `${lastUncheckedCommit}..HEAD`;
  const lines = (git("log", "--no-merges", "--format=%h %s", range) ?? "")
    .split("\n")
    .filter(Boolean);
  const faults = lines.flatMap((line) => {
    const subject = line.slice(line.indexOf(" ") + 1);
    const fault = findFault(subject);
    return fault === undefined ? [] : [`${line}\n  ${fault}`];
  });
  console.log(`${lines.length} commits, ${faults.length} faults`);
  faults.forEach((fault) => console.error(fault));
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function findFault(subject) {
  if (subject.length > maxSubjectLength) {
    return `the subject has ${subject.length} characters; at most ${maxSubjectLength} are allowed`;
  }
  if (!/^[A-Z`]/.test(subject) || /^\w+(\(.*\))?:/.test(subject)) {
    return "begin with a verb and a capital letter, without a prefix";
  }
  return subject.endsWith(".") ? "no period at the end" : undefined;
}
