// Runs one check with one bridge in a separate process and prints the result as JSON. Arguments: bridge, check,
// endpoint.
import { bridges, exitingBridges } from "./bridges.mjs";

const [, , name, check, endpoint] = process.argv;

const catchError = (work) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

const checks = {
  /** Time from the first use to the first result, and the memory that the process takes in addition. */
  start() {
    const before = process.memoryUsage.rss();
    const startedAt = performance.now();
    bridges[name](endpoint, 20_000)("projects", "list", { projectName: "p" });
    const startMs = performance.now() - startedAt;
    return { startMs, mebibytes: (process.memoryUsage.rss() - before) / 2 ** 20 };
  },
  errors() {
    const call = bridges[name](endpoint, 20_000);
    const readConfiguration = () => call("projects", "list", { projectName: "status-409" });
    const error = catchError(readConfiguration);
    const connectionError = catchError(() =>
      bridges[name]("http://127.0.0.1:1", 20_000)("tenant", "settings"),
    );
    return {
      "its class": error.constructor.name === "ConflictError",
      "its code, status and request id":
        error.code === "CONFLICT" && error.status === 409 && error.requestId !== undefined,
      "its cause, with the cause's code": connectionError.cause?.code === "ECONNREFUSED",
      "the caller's frames in its stack": error.stack.includes("readConfiguration"),
    };
  },
  timeouts() {
    const limitMs = 400;
    const call = bridges[name](endpoint, limitMs);
    const list = (project) => call("projects", "list", { projectName: project });
    catchError(() => list("p"));
    let correctResults = 0;
    for (let round = 0; round < 20; round++) {
      catchError(() => list(`slow-${limitMs - 10 + round}`));
      catchError(() => {
        correctResults += list(`own-${round}`)[0].name === `own-${round}` ? 1 : 0;
      });
    }
    const { message, code } = catchError(() => list("slow-8000"));
    return { correctResults, "the error at a time limit": message, "its code": code ?? "none" };
  },
  workerExit() {
    const startedAt = performance.now();
    const error = catchError(exitingBridges[name]());
    return { message: error.message, noticedAfterMs: performance.now() - startedAt };
  },
  preload() {
    bridges[name](endpoint, 20_000)("projects", "list", { projectName: "p" });
    return {};
  },
};

console.log(JSON.stringify(checks[check]()));
