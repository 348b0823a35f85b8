import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError("langsmith/utils/jestlike", "Use langsmith/vitest.");
