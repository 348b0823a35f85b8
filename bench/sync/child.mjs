// One process, one bridge: what it does, as JSON. Arguments: the bridge, the question, the endpoint.
import { bridges, dyingBridges } from "./bridges.mjs";

const [, , name, question, endpoint] = process.argv;

const thrownBy = (work) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};

const questions = {
  /** From the program's first need to the first answer, and what the process holds more after it. */
  start() {
    const before = process.memoryUsage.rss();
    const began = performance.now();
    bridges[name](endpoint, 20_000)("projects", "list", { projectName: "p" });
    const startMs = performance.now() - began;
    return { startMs, mebibytes: (process.memoryUsage.rss() - before) / 2 ** 20 };
  },
  errors() {
    const call = bridges[name](endpoint, 20_000);
    const readConfiguration = () => call("projects", "list", { projectName: "status-409" });
    const error = thrownBy(readConfiguration);
    const unreached = thrownBy(() =>
      bridges[name]("http://127.0.0.1:1", 20_000)("tenant", "settings"),
    );
    return {
      "its class": error.constructor.name === "ConflictError",
      "its code, status and request id":
        error.code === "CONFLICT" && error.status === 409 && error.requestId !== undefined,
      "its cause, with the cause's code": unreached.cause?.code === "ECONNREFUSED",
      "the caller's frames in its stack": error.stack.includes("readConfiguration"),
    };
  },
  timeouts() {
    const limitMs = 400;
    const call = bridges[name](endpoint, limitMs);
    const list = (project) => call("projects", "list", { projectName: project });
    thrownBy(() => list("p"));
    let own = 0;
    for (let round = 0; round < 20; round++) {
      thrownBy(() => list(`slow-${limitMs - 10 + round}`));
      thrownBy(() => {
        own += list(`own-${round}`)[0].name === `own-${round}` ? 1 : 0;
      });
    }
    const { message, code } = thrownBy(() => list("slow-8000"));
    return { own, "the error of a time limit": message, "its code": code ?? "none" };
  },
  death() {
    const began = performance.now();
    const error = thrownBy(dyingBridges[name]());
    return { message: error.message, noticedAfterMs: performance.now() - began };
  },
  preload() {
    bridges[name](endpoint, 20_000)("projects", "list", { projectName: "p" });
    return {};
  },
};

console.log(JSON.stringify(questions[question]()));
