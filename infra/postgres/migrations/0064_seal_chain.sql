-- Up Migration

-- A seal also has what can still be compared once the transfers of its day are archived (operations and jobs stay), and a
-- digest over itself and the seal before it, so that no seal can be changed or removed unseen. Earlier seals have no digests
-- of operations and jobs, which their link in the chain says as well.
alter table sealed_days
  -- SHA-256 over the day's operations in their order.
  add column operations_digest bytea check (length(operations_digest) = 32),
  add column jobs bigint check (jobs >= 0),
  -- SHA-256 over what never changes of the day's jobs in their order.
  add column jobs_digest bytea check (length(jobs_digest) = 32),
  add column chain bytea check (length(chain) = 32);

create function seal_chain(before bytea, seal sealed_days) returns bytea language sql stable parallel safe as $$
  select sha256(coalesce(before, '') || convert_to(concat_ws('|', to_char(seal.day, 'YYYY-MM-DD'), seal.transfers,
    seal.operations, coalesce(seal.jobs::text, '-'), seal.sums::text, encode(seal.digest, 'hex'), encode(seal.sums_digest, 'hex'),
    coalesce(encode(seal.operations_digest, 'hex'), '-'), coalesce(encode(seal.jobs_digest, 'hex'), '-')), 'UTF8'))
$$;

alter table sealed_days disable trigger sealed_days_append_only;
do $$
declare
  seal sealed_days;
  last bytea;
begin
  for seal in select * from sealed_days order by day loop
    last := seal_chain(last, seal);
    update sealed_days set chain = last where day = seal.day;
  end loop;
end $$;
alter table sealed_days alter column chain set not null;
alter table sealed_days enable trigger sealed_days_append_only;

-- Seals are written by the owner of the tables: the ledger check connects as who runs it.
revoke insert on sealed_days, sealed_sums, sealed_balances from farebox_app;

-- Down Migration

grant insert on sealed_days, sealed_sums, sealed_balances to farebox_app;
alter table sealed_days drop column chain, drop column jobs_digest, drop column jobs, drop column operations_digest;
drop function seal_chain;
