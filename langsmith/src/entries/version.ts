export { __version__ as VERSION } from "./index.ts";
