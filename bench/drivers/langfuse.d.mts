import type { CreateDriver } from "./driver.ts";

/** langfuse 5, whose packages are installed with the benches only. */
export declare const createLangfuse: CreateDriver;
