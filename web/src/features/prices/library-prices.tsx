import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { describeOtherRates } from "./describe-rates.ts";
import { formatRate } from "./price.ts";
import type { LibraryPrice } from "./price.ts";
import { createLibraryQuery } from "./queries.ts";

/** The public prices, with a search by model or provider. */
export const LibraryPrices = ({
  text,
  onText,
  onOverride,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onOverride: (price: LibraryPrice) => void;
}) => {
  const searchField = useSearchShortcut("Search public prices");
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    createLibraryQuery(text),
  );
  const prices = data?.pages.flatMap((page) => page.prices);
  const total = data?.pages[0]?.total ?? 0;
  return (
    <>
      <TextInput
        ref={searchField}
        type="search"
        aria-label="Search public prices"
        placeholder="Search models and providers"
        maxLength={200}
        value={text}
        onChange={({ currentTarget }) => onText(currentTarget.value)}
      />
      {prices === undefined && error === null && <Loading resourceName="the public prices" />}
      {prices === undefined && error !== null && (
        <Failure resourceName="the public prices" error={error} onRetry={refetch} />
      )}
      {prices?.length === 0 && <p className="form-about">No matches</p>}
      {prices !== undefined && prices.length > 0 && (
        <>
          <ScrollX label="Public prices">
            <table className="projects stacked" aria-label="Public prices">
              <thead>
                <tr>
                  <th scope="col">Model</th>
                  <th scope="col">Provider</th>
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
                  <tr key={`${price.provider}\n${price.model}`}>
                    <td className="cell-project">{price.model}</td>
                    <td data-title="Provider">{price.providerName}</td>
                    <td className="number" data-title="Input">
                      {formatRate(price.prices.input) || "–"}
                    </td>
                    <td className="number" data-title="Output">
                      {formatRate(price.prices.output) || "–"}
                    </td>
                    <td data-title="Other prices">{describeOtherRates(price.prices)}</td>
                    <td className="number">
                      <Button
                        size="compact-xs"
                        variant="default"
                        aria-label={`Override ${price.model} of ${price.providerName}`}
                        onClick={() => onOverride(price)}
                      >
                        Override
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollX>
          <p className="form-about">
            {prices.length.toLocaleString("en")} of {total.toLocaleString("en")}
          </p>
          {hasNextPage && (
            <Button
              size="xs"
              variant="default"
              loading={isFetchingNextPage}
              onClick={() => void fetchNextPage()}
            >
              Load more
            </Button>
          )}
        </>
      )}
    </>
  );
};
