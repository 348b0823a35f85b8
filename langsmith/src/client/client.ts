import { createUnsupportedError } from "../unsupported.ts";
import type { RunUpdate } from "../schemas.ts";
import { translateMethods } from "./advice.ts";
import { QueueMethods } from "./queue-methods.ts";
import type { CreateRunParams } from "./run-methods.ts";

/** The methods that record runs. LangChain accepts any object with these methods as a client. */
export interface LangSmithTracingClientInterface {
  createRun: (run: CreateRunParams) => Promise<void>;
  updateRun: (runId: string, run: RunUpdate) => Promise<void>;
}

/**
 * A client with the same methods, arguments and results as langsmith's. It uses a client of Millrace, which is its
 * member `millrace`. A method that is not supported throws an error that names what to use instead.
 */
export class Client extends QueueMethods implements LangSmithTracingClientInterface {
  /** Not supported. */
  get runs(): never {
    throw createUnsupportedError(
      "Client.runs",
      "Use listRuns and readRun, or client.millrace.runs.",
    );
  }

  /** Not supported. */
  get datasets(): never {
    throw createUnsupportedError(
      "Client.datasets",
      "Use listDatasets and the like, or client.millrace.datasets.",
    );
  }

  /** Not supported. */
  get annotationQueues(): never {
    throw createUnsupportedError(
      "Client.annotationQueues",
      "Use listAnnotationQueues and the like, or client.millrace.annotationQueues.",
    );
  }

  /** Not supported. */
  get threads(): never {
    throw createUnsupportedError("Client.threads", "Use listThreads and readThread.");
  }

  /** Not supported. */
  get traces(): never {
    throw createUnsupportedError("Client.traces", "Use listRuns({ traceId }).");
  }

  /** Not supported. */
  get evaluators(): never {
    throw createUnsupportedError(
      "Client.evaluators",
      "Call evaluateTraces of `millrace/evaluation` on a schedule.",
    );
  }

  /** Not supported. */
  get sandboxes(): never {
    throw createUnsupportedError("Client.sandboxes", "Millrace does not run your code.");
  }

  /** Not supported. */
  get sessions(): never {
    throw createUnsupportedError(
      "Client.sessions",
      "Use listProjects and readProject, or client.millrace.projects.",
    );
  }

  /** Not supported. */
  get agents(): never {
    throw createUnsupportedError(
      "Client.agents",
      "Record the runs of each agent in its own project.",
    );
  }

  /** Not supported. */
  get public(): never {
    throw createUnsupportedError("Client.public", "Use readSharedDataset and listSharedRuns.");
  }
}

translateMethods(Client);
