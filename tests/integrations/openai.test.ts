import { AzureOpenAI, OpenAI } from "openai";
import { describeOpenAi } from "./openai-checks.ts";

describeOpenAi("openai 6", { OpenAI, AzureOpenAI });
