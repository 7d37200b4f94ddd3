-- Nano units of the lines of a text call. `lines` has token counts and their rates per million in turns, each line
-- rounded up once; `add_ons` has counts and prices in turns. Null unless the lines, if there are any, have all of its
-- tokens.
create or replace function ledger_listed_price(sold jsonb, lines text, add_ons text) returns numeric
language plpgsql immutable parallel safe as $$
declare
  tokens numeric := 0;
  price numeric := 0;
  list jsonb := sold -> lines;
begin
  if jsonb_typeof(list) is distinct from 'array' then
    return null;
  end if;
  for i in 0 .. jsonb_array_length(list) / 2 - 1 loop
    if jsonb_typeof(list -> 2 * i) <> 'number' or jsonb_typeof(list -> 2 * i + 1) <> 'number' then
      return null;
    end if;
    tokens := tokens + (list -> 2 * i)::numeric;
    price := price + ceil((list -> 2 * i)::numeric * (list -> 2 * i + 1)::numeric / 1000000);
  end loop;
  if tokens > 0 and (jsonb_typeof(sold -> 'promptTokens') <> 'number' or jsonb_typeof(sold -> 'completionTokens') <> 'number'
      or tokens is distinct from (sold -> 'promptTokens')::numeric + (sold -> 'completionTokens')::numeric) then
    return null;
  end if;
  list := sold -> add_ons;
  if jsonb_typeof(list) = 'array' then
    for i in 0 .. jsonb_array_length(list) / 2 - 1 loop
      if jsonb_typeof(list -> 2 * i) <> 'number' or jsonb_typeof(list -> 2 * i + 1) <> 'number' then
        return null;
      end if;
      price := price + (list -> 2 * i)::numeric * (list -> 2 * i + 1)::numeric;
    end loop;
  end if;
  return price;
end $$;
