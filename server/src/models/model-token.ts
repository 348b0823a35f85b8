import { randomBytes } from "node:crypto";

/** Creates a token of 128 random bits, without which nobody can call models while the server requires no key. */
export const createModelToken = (): string => randomBytes(16).toString("base64url");
