import type { Driver, DriverInit } from "./driver.ts";

/**
 * A driver that records nothing. Its figures are the cost of the harness, which is subtracted from the other clients'
 * figures.
 */
export const createNone = (_init: DriverInit): Driver => ({
  start: () => undefined,
  end: () => undefined,
  id: () => "",
  stats: () => ({ pending: 0, lost: 0 }),
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
});
