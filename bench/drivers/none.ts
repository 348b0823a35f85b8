import type { Driver, DriverInit } from "./driver.ts";

/** Records nothing: what remains is the harness's own cost, which is subtracted. */
export const createNone = (_init: DriverInit): Driver => ({
  start: () => undefined,
  end: () => undefined,
  id: () => "",
  stats: () => ({ pending: 0, lost: 0 }),
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
});
