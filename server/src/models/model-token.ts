import { randomBytes } from "node:crypto";

/** Creates a token of 128 random bits. While the server requires no API key, model calls require this token. */
export const createModelToken = (): string => randomBytes(16).toString("base64url");
