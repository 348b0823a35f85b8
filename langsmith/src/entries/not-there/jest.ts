import { notThere } from "../../not-there.ts";

throw notThere("langsmith/jest", "Use langsmith/vitest, or evaluate of langsmith/evaluation.");
