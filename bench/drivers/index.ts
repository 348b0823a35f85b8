import type { CreateDriver } from "./driver.ts";

/** Each loaded only where it is measured, so that none pays for another's code. */
const loaders = {
  none: async () => (await import("./none.ts")).createNone,
  naive: async () => (await import("./naive.ts")).createNaive,
  millrace: async () => (await import("./millrace.ts")).createMillrace,
} as const satisfies Record<string, () => Promise<CreateDriver>>;

export type DriverName = keyof typeof loaders;

const isDriverName = (name: string): name is DriverName => Object.hasOwn(loaders, name);

/** @throws RangeError there is no driver of that name. */
export function loadDriver(name: string): Promise<CreateDriver> {
  if (!isDriverName(name)) {
    throw new RangeError(`No driver ${name}; there are ${Object.keys(loaders).join(", ")}`);
  }
  return loaders[name]();
}
