-- Up Migration

-- What was billed, for its owner to read: pages by time come from the primary key, pages of one currency from this index.
create index transfers_usage on transfers (account_id, currency, created_at, id) where kind in ('charge', 'refund');

-- A refund carries what it gives back, so that a page of entries is one range read: its charge's snapshot, with the units
-- below zero when all of it came back; when only the price was lowered, none of what was consumed was undone.
alter table transfers add column sold jsonb check (sold is null or kind = 'refund');
create function describe_refund() returns trigger language plpgsql as $$
declare
  charged operations;
  returned operations;
  snapshot jsonb;
begin
  select * into charged from operations where operation_id = new.details ->> 'charge' and kind = 'charge';
  select * into returned from operations where operation_id = new.operation_id and kind = 'refund';
  -- Charged at once: booked at the operation's own time. Held first: booked some time later.
  select t.details into snapshot from transfers t
    where t.account_id = new.account_id and t.created_at >= charged.created_at
      and t.kind = 'charge' and t.operation_id = charged.operation_id
    order by t.created_at, t.id limit 1;
  new.sold := snapshot || jsonb_build_object('units', case
    when (returned.diem, returned.bundled, returned.usd) = (charged.diem, charged.bundled, charged.usd)
    then '-' || (snapshot ->> 'units') else '0' end);
  return new;
end $$;
create trigger transfers_describe_refund before insert on transfers for each row
  when (new.kind = 'refund') execute function describe_refund();

-- Digits only, else null: a snapshot is JSON, and one odd value in it must not cost its owner the whole page.
create function usage_digits(value text) returns text language sql immutable parallel safe as $$
  select case when translate(value, '0123456789', '') = '' and length(value) between 1 and 18 then value end
$$;

-- Usage entry of a ledger row (ACCOUNT-11). `amount_nano` is what was billed: above zero for a charge, below for
-- a refund. A charge that was paid from several currencies has an entry for each; all name the units of the whole.
create view usage_entries as
select account_id, created_at, id, operation_id, kind, currency, key_id,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "timestamp",
  coalesce(what ->> 'sku', kind) as sku,
  what ->> 'modelId' as model_id,
  what ->> 'unit' as unit_name,
  case when what ->> 'units' ~ '^-?\d{1,18}(\.\d{1,18})?$' then what ->> 'units' else '0' end as units,
  coalesce(usage_digits(what ->> 'pricePerUnitUsd'), '0')::bigint as price_nano,
  -amount as amount_nano,
  case kind when 'refund' then concat('Refund: ', details ->> 'reason')
    else coalesce(details ->> 'notes', 'API Inference') end as notes,
  what ->> 'requestId' as request_id,
  usage_digits(what ->> 'inferenceExecutionTime') as execution_ms,
  usage_digits(what ->> 'promptTokens') as prompt_tokens,
  usage_digits(what ->> 'completionTokens') as completion_tokens
from transfers cross join lateral (select coalesce(sold, details) as what) as s
where kind in ('charge', 'refund');
revoke all on usage_entries from farebox_app;
grant select on usage_entries to farebox_app;

-- What the places that a listing hands out are signed with; one for all processes. 366 random bits, hashed.
create table signing_key (
  one boolean primary key default true check (one),
  key bytea not null check (length(key) = 32)
);
insert into signing_key (key) values (
  sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
revoke all on signing_key from farebox_app;
grant select on signing_key to farebox_app;

-- Down Migration

drop table signing_key;
drop view usage_entries;
drop function usage_digits;
drop trigger transfers_describe_refund on transfers;
drop function describe_refund;
alter table transfers drop column sold;
drop index transfers_usage;
