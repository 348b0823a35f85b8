import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError("langsmith/sandbox", "Millrace runs no code of yours.");
