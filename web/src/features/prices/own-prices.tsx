import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { FormSection } from "../../components/dialog/form.tsx";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { describeOtherRates } from "./describe-rates.ts";
import { formatRate, toKey } from "./price.ts";
import type { Price } from "./price.ts";
import { deletePrice, pricesQuery } from "./queries.ts";

/** The price table of the tenant. */
export const OwnPrices = ({
  onEdit,
  onDeleted,
}: {
  readonly onEdit: (price: Price) => void;
  readonly onDeleted: () => void;
}) => {
  const queryClient = useQueryClient();
  const { data: prices, error, refetch } = useQuery(pricesQuery);
  const [priceToDelete, setPriceToDelete] = useState<Price>();
  return (
    <FormSection
      title="Your prices"
      description="In US dollars per million tokens. Your prices replace public prices. In a model's name, * stands for any text."
    >
      {prices === undefined && error === null && <Loading resourceName="the prices" />}
      {prices === undefined && error !== null && (
        <Failure resourceName="the prices" error={error} onRetry={refetch} />
      )}
      {prices?.length === 0 && <p className="form-about">You have not set any prices.</p>}
      {prices !== undefined && prices.length > 0 && (
        <ScrollX label="Your prices">
          <table className="projects stacked" aria-label="Your prices">
            <thead>
              <tr>
                <th scope="col">Model</th>
                <th scope="col">Provider</th>
                <th scope="col">Tier</th>
                <th scope="col">Valid from</th>
                <th scope="col" className="number">
                  Input
                </th>
                <th scope="col" className="number">
                  Output
                </th>
                <th scope="col">Other prices</th>
                <th scope="col">
                  <span className="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {prices.map((price) => (
                <OwnPriceRow
                  key={toKey(price)}
                  price={price}
                  onEdit={onEdit}
                  onDelete={setPriceToDelete}
                />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      {priceToDelete !== undefined && (
        <Confirm
          title={`Delete the price of ${toVisibleText(priceToDelete.model)}?`}
          action="Delete price"
          onClose={() => setPriceToDelete(undefined)}
          onConfirm={async () => {
            await deletePrice(priceToDelete);
            onDeleted();
            await queryClient.invalidateQueries({ queryKey: pricesQuery.queryKey });
          }}
        >
          <p>The costs of stored runs do not change until you recompute them.</p>
        </Confirm>
      )}
    </FormSection>
  );
};

const OwnPriceRow = ({
  price,
  onEdit,
  onDelete,
}: {
  readonly price: Price;
  readonly onEdit: (price: Price) => void;
  readonly onDelete: (price: Price) => void;
}) => {
  const { model, provider, tier, from, prices } = price;
  return (
    <tr>
      <td className="cell-project">{toVisibleText(model)}</td>
      <td data-title="Provider">
        {provider === null ? <span className="absent">Any</span> : toVisibleText(provider)}
      </td>
      <td data-title="Tier">
        {tier === null ? <span className="absent">Standard</span> : toVisibleText(tier)}
      </td>
      <td className="nowrap" data-title="Valid from">
        {from ?? <span className="absent">Always</span>}
      </td>
      <td className="number" data-title="Input">
        {formatRate(prices.input)}
      </td>
      <td className="number" data-title="Output">
        {formatRate(prices.output) || "–"}
      </td>
      <td data-title="Other prices">{describeOtherRates(prices)}</td>
      <td className="number">
        <ActionMenu
          label={`Actions of ${toVisibleText(model)}`}
          actions={[
            { label: "Edit", onClick: () => onEdit(price) },
            { label: "Delete", onClick: () => onDelete(price), isDestructive: true },
          ]}
        />
      </td>
    </tr>
  );
};
