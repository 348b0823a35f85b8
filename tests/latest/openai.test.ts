import { AzureOpenAI, OpenAI } from "openai";
import { describeOpenAi } from "../integrations/openai-checks.ts";

// The types of the checks are those of openai 6.
describeOpenAi("openai 7", { OpenAI, AzureOpenAI } as unknown as Parameters<
  typeof describeOpenAi
>[1]);
