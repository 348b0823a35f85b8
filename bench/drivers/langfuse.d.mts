import type { CreateDriver } from "./driver.ts";

/** The driver for langfuse 5, whose packages are installed only with the benches. */
export declare const createLangfuse: CreateDriver;
