import type { ClientOptions, RunTree } from "millrace";
import type { Driver, DriverInit } from "./driver.ts";
import { createMillrace } from "./millrace.ts";

/** This SDK with content deduplication: repeated content of a trace is sent once. The server must support it. */
export const createMillraceOnce = (
  init: DriverInit,
  options: ClientOptions = {},
): Driver<RunTree> => createMillrace(init, { ...options, contentDeduplication: "once" });
