import { notThere } from "../../not-there.ts";

throw notThere("langsmith/utils/jestlike", "Use langsmith/vitest.");
