import type { CreateDriver } from "./driver.ts";

/** braintrust, whose package is installed with the benches only. */
export declare const createBraintrust: CreateDriver;
