export * from "../../dist/entries/vercel.js";
