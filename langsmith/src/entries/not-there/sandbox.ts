import { notThere } from "../../not-there.ts";

throw notThere("langsmith/sandbox", "Millrace runs no code of yours.");
