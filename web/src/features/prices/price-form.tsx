import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { formatRate, hasSameKey, parseRateText, priceKinds } from "./price.ts";
import type { Price, PriceKind, Rate } from "./price.ts";
import { deletePrice, pricesQuery, savePrice } from "./queries.ts";

type RateTexts = Readonly<Record<PriceKind, string>>;

/** The kinds of prices that are always shown. Other kinds are shown when the user asks for more, or if they are set. */
const usualKinds: readonly PriceKind[] = ["input", "output", "cache_read", "cache_write"];

/** A form that adds a price to the price table, or edits a price. */
export const PriceForm = ({
  prices,
  edited,
  draft = {},
  onSaved,
  onClose,
}: {
  /** The rows of the price table. Two rows must not have the same key. */
  readonly prices: readonly Price[];
  /** The row to edit; absent for a new one. */
  readonly edited?: Price;
  /** The initial values of a new row. */
  readonly draft?: Partial<Price>;
  readonly onSaved: (price: Price) => void;
  readonly onClose: () => void;
}) => {
  const initialPrice = edited ?? draft;
  const queryClient = useQueryClient();
  const [model, setModel] = useState(initialPrice.model ?? "");
  const [provider, setProvider] = useState(initialPrice.provider ?? "");
  const [tier, setTier] = useState(initialPrice.tier ?? "");
  const [from, setFrom] = useState(initialPrice.from ?? "");
  const [texts, setTexts] = useState<RateTexts>(
    () =>
      Object.fromEntries(
        priceKinds.map(([kind]) => [kind, formatRate(initialPrice.prices?.[kind])]),
      ) as RateTexts,
  );
  const [areAllKindsShown, setAreAllKindsShown] = useState(
    priceKinds.some(([kind]) => !usualKinds.includes(kind) && texts[kind] !== ""),
  );
  const rates = priceKinds.map(([kind, label]) => ({
    kind,
    label,
    rate: parseRateText(texts[kind]),
  }));
  const hasFault = rates.some(({ rate }) => isFault(rate));
  const save = async (): Promise<void> => {
    const price: Price = {
      model: model.trim(),
      provider: toNull(provider),
      tier: toNull(tier),
      from: toNull(from),
      prices: Object.fromEntries(
        rates.flatMap(({ kind, rate }) =>
          rate === undefined || isFault(rate) ? [] : [[kind, rate]],
        ),
      ),
    };
    const isKeyChanged = edited !== undefined && !hasSameKey(price, edited);
    if (
      (edited === undefined || isKeyChanged) &&
      prices.some((other) => hasSameKey(price, other))
    ) {
      throw new Error(
        "A price for this model, provider, tier and date already exists. Edit that price, or change one of these values.",
      );
    }
    await savePrice(price);
    if (isKeyChanged) {
      await deletePrice(edited);
    }
    onSaved(price);
    await queryClient.invalidateQueries({ queryKey: pricesQuery.queryKey });
  };
  return (
    <DialogForm
      title={edited === undefined ? "Add price" : "Edit price"}
      action={edited === undefined ? "Add price" : "Save"}
      isDisabled={model.trim() === "" || texts.input.trim() === "" || hasFault}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label="Model"
        description="The model name as runs report it. * is a wildcard."
        required
        maxLength={200}
        data-autofocus={initialPrice.model === undefined ? true : undefined}
        value={model}
        onChange={({ currentTarget }) => setModel(currentTarget.value)}
      />
      <div className="price-fields">
        <TextInput
          label="Provider"
          placeholder="Any"
          maxLength={200}
          value={provider}
          onChange={({ currentTarget }) => setProvider(currentTarget.value)}
        />
        <TextInput
          label="Service tier"
          placeholder="Standard"
          maxLength={200}
          value={tier}
          onChange={({ currentTarget }) => setTier(currentTarget.value)}
        />
        <TextInput
          label="Valid from (UTC)"
          type={from === "" || /^\d{4}-\d\d-\d\d$/.test(from) ? "date" : "text"}
          value={from}
          onChange={({ currentTarget }) => setFrom(currentTarget.value)}
        />
      </div>
      <p className="form-about">
        Prices are in US dollars per million tokens. A price can depend on the number of input
        tokens of a run. For example, enter “2, 4 above 200000” for $2, or $4 for runs with more
        than 200,000 input tokens.
      </p>
      <div className="price-fields">
        {rates
          .filter(({ kind }) => areAllKindsShown || usualKinds.includes(kind))
          .map(({ kind, label, rate }) => (
            <TextInput
              key={kind}
              label={label}
              inputMode="decimal"
              required={kind === "input"}
              maxLength={300}
              data-autofocus={
                kind === "input" && initialPrice.model !== undefined ? true : undefined
              }
              placeholder={placeholders[kind]}
              value={texts[kind]}
              error={isFault(rate) ? rate.fault : undefined}
              onChange={({ currentTarget: { value } }) =>
                setTexts((current) => ({ ...current, [kind]: value }))
              }
            />
          ))}
      </div>
      {!areAllKindsShown && (
        <Button
          className="price-more"
          size="compact-xs"
          variant="subtle"
          onClick={() => setAreAllKindsShown(true)}
        >
          More kinds of tokens
        </Button>
      )}
    </DialogForm>
  );
};

/**
 * The placeholder of each field: the price that applies to tokens of this kind if the field is empty, or an example.
 */
const placeholders: { readonly [Kind in PriceKind]: string } = {
  input: "2.5",
  output: "10",
  cache_read: "As input",
  cache_write: "As input",
  cache_write_1h: "As cache write",
  input_audio: "As input",
  output_audio: "As output",
  reasoning: "As output",
  request: "0",
};

const toNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());

const isFault = (
  rate: Rate | undefined | { readonly fault: string },
): rate is { readonly fault: string } => typeof rate === "object" && "fault" in rate;
