import type { RemotePosition } from "./propagation.ts";
import { RunTree } from "./run-tree.ts";
import { spare } from "../queue/stack-room.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";

const noop = (): void => undefined;

/** A client that records nothing. Used when no client is configured. */
export const noopClient: TracingClient = {
  [recorder]: {
    projectName: "default",
    attachmentBytes: 0,
    recursionLimit: 25,
    isSampled: () => false,
    recordStart: noop,
    recordEnd: noop,
    truncated: noop,
    warn: noop,
  },
  createRun: () => Promise.resolve(),
  updateRun: () => Promise.resolve(),
};

const noopId = "00000000-0000-7000-8000-000000000000";

const noopPosition: RemotePosition = {
  id: noopId,
  traceId: noopId,
  parentRunId: undefined,
  dottedOrder: `19700101T000000000000Z${noopId}`,
  startMicros: 0,
};

/** Returned when a run can't be created because the stack is exhausted. Neither it nor its children are recorded. */
export const noopRun = new RunTree(
  { client: noopClient, remote: noopPosition, recorded: false },
  {},
);

const addMethods = ["addEvent", "addAttachment", "addTags", "addMetadata"] as const;
spare(RunTree.prototype, { methods: addMethods, what: "details" });
spare(RunTree.prototype, { methods: ["end", "fail"], what: "records" });
spare(RunTree.prototype, { methods: ["startChild"], what: "records", noop: noopRun });
