import { notThere } from "../not-there.ts";
import type { RunUpdate } from "../schemas.ts";
import { translateMethods } from "./advice.ts";
import { QueueMethods } from "./queue-methods.ts";
import type { CreateRunParams } from "./run-methods.ts";

/** What records runs. LangChain accepts any such object as a client. */
export interface LangSmithTracingClientInterface {
  createRun: (run: CreateRunParams) => Promise<void>;
  updateRun: (runId: string, run: RunUpdate) => Promise<void>;
}

/**
 * The client with the methods, arguments and results of langsmith's, over a client of Millrace, which is its member
 * `millrace`. What is not there throws and says what to use.
 */
export class Client extends QueueMethods implements LangSmithTracingClientInterface {
  /** Not there. */
  get runs(): never {
    throw notThere("Client.runs", "Use listRuns and readRun, or client.millrace.runs.");
  }

  /** Not there. */
  get datasets(): never {
    throw notThere(
      "Client.datasets",
      "Use listDatasets and the like, or client.millrace.datasets.",
    );
  }

  /** Not there. */
  get annotationQueues(): never {
    throw notThere(
      "Client.annotationQueues",
      "Use listAnnotationQueues and the like, or client.millrace.annotationQueues.",
    );
  }

  /** Not there. */
  get threads(): never {
    throw notThere("Client.threads", "Use listThreads and readThread.");
  }

  /** Not there. */
  get traces(): never {
    throw notThere("Client.traces", "Use listRuns({ traceId }).");
  }

  /** Not there. */
  get evaluators(): never {
    throw notThere(
      "Client.evaluators",
      "Call evaluateTraces of `millrace/evaluation` on a schedule.",
    );
  }

  /** Not there. */
  get sandboxes(): never {
    throw notThere("Client.sandboxes", "Millrace runs no code of yours.");
  }

  /** Not there. */
  get public(): never {
    throw notThere("Client.public", "Use readSharedDataset and listSharedRuns.");
  }
}

translateMethods(Client);
