import type { RemotePosition } from "./propagation.ts";
import { RunTree } from "./run-tree.ts";
import { spare } from "../queue/stack-room.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";

const nothing = (): void => undefined;

/** Records nothing: where there is no client. */
export const nobody: TracingClient = {
  [recorder]: {
    projectName: "default",
    attachmentBytes: 0,
    recursionLimit: 25,
    isSampled: () => false,
    recordStart: nothing,
    recordEnd: nothing,
    truncated: nothing,
    warn: nothing,
  },
  createRun: () => Promise.resolve(),
  updateRun: () => Promise.resolve(),
};

const nil = "00000000-0000-7000-8000-000000000000";

const nowhere: RemotePosition = {
  id: nil,
  traceId: nil,
  parentRunId: undefined,
  dottedOrder: `19700101T000000000000Z${nil}`,
  startMicros: 0,
};

/** Stands for each run that there was no stack left to make: nothing is recorded of it, or below it. */
export const noopRun = new RunTree({ client: nobody, remote: nowhere, recorded: false }, {});

const adding = ["addEvent", "addAttachment", "addTags", "addMetadata"] as const;
spare(RunTree.prototype, { methods: adding, what: "details" });
spare(RunTree.prototype, { methods: ["end", "fail"], what: "records" });
spare(RunTree.prototype, { methods: ["startChild"], what: "records", noop: noopRun });
