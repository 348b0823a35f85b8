export { wrapGemini } from "../wrappers/gemini.ts";
