import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError("langsmith/sandbox", "Millrace does not run your code.");
