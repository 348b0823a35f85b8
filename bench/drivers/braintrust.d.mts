import type { CreateDriver } from "./driver.ts";

/** The driver for braintrust, whose package is installed only with the benches. */
export declare const createBraintrust: CreateDriver;
