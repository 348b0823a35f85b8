import type { Item, Phase } from "../model/import-source.ts";
import { addPrompt, chooseHandles } from "./add-prompt.ts";
import type { SourcePrompt } from "./add-prompt.ts";
import type { ImportTarget } from "./import-target.ts";

/** A prompt in the source's list of prompts. */
export interface ListedPrompt {
  readonly name: string;
  /** Reads the other fields of the prompt. The argument is the prompt's handle on the target. */
  readonly read: (handle: string) => Promise<Omit<SourcePrompt, "product" | "handle">>;
}

/** Creates the phase that imports the prompts of a product, one after another. */
export const toPromptPhase = (
  target: ImportTarget,
  product: string,
  listPrompts: () => Promise<readonly ListedPrompt[]>,
): Phase => ({
  name: "prompts",
  listItems: async () => {
    const prompts = await listPrompts();
    const handles = chooseHandles(prompts.map(({ name }) => name));
    return prompts.map(({ name, read }): Item => ({
      key: name,
      label: `prompt ${JSON.stringify(name)}`,
      importPage: async () => {
        const handle = handles.get(name) ?? name;
        await addPrompt(target, { ...(await read(handle)), product, handle });
        return undefined;
      },
    }));
  },
});
