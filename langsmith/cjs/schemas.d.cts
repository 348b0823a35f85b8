export type * from "../dist/entries/schemas.js";
