-- Up Migration

-- From this time on the check of the ledger wants of each entry what earlier versions did not write: a charge says what it
-- sold in a form that can be recomputed, credit has its act in the audit trail, and what exceeds a hold has an operation of
-- its own. Books without a row have no such entries. Others get a day, in which processes of the version before may still run.
create table described_since (since timestamptz not null);
insert into described_since
  select case when exists (select from operations) then ledger_now() + interval '1 day' else '-infinity' end;
create trigger described_since_append_only before insert or update or delete or truncate on described_since
  for each statement execute function refuse_seal_change();
revoke all on described_since from farebox_app;
grant select on described_since to farebox_app;

-- Nano units that the lines of a text call come to: `lines` has tokens and their rate per million in turns, each line is
-- rounded up once; `addOns` has counts and prices in turns. Null unless the lines, if there are any, have all of its tokens.
create function ledger_listed_price(sold jsonb, lines text, add_ons text) returns numeric
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

create index audit_events_of_credit on audit_events (target_id) where action in ('credit.grant', 'credit.adjust');

-- Down Migration

drop index audit_events_of_credit;
drop function ledger_listed_price;
drop table described_since;
