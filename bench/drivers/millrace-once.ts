import type { ClientOptions, RunTree } from "millrace";
import type { Driver, DriverInit } from "./driver.ts";
import { createMillrace } from "./millrace.ts";

/** This SDK where content that a trace holds again is sent once, to a server that takes that. */
export const createMillraceOnce = (
  init: DriverInit,
  options: ClientOptions = {},
): Driver<RunTree> => createMillrace(init, { ...options, contentDeduplication: "once" });
