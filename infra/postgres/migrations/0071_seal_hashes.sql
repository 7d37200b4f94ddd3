-- Up Migration

-- A hash of the rows that needs no order takes a third of the time of SHA-256 over them (infra/postgres/ledgerSeals.ts). Seals of
-- earlier versions keep their counts and sums, and have no hashes.
alter table sealed_days
  add column transfers_hash numeric,
  add column operations_hash numeric,
  add column jobs_hash numeric,
  drop column digest,
  drop column operations_digest,
  drop column jobs_digest;

create or replace function seal_chain(before bytea, seal sealed_days) returns bytea language sql stable parallel safe as $$
  select sha256(coalesce(before, '') || convert_to(concat_ws('|', to_char(seal.day, 'YYYY-MM-DD'), seal.transfers,
    seal.operations, coalesce(seal.jobs::text, '-'), seal.sums::text, coalesce(seal.transfers_hash::text, '-'),
    coalesce(seal.operations_hash::text, '-'), coalesce(seal.jobs_hash::text, '-'), encode(seal.sums_digest, 'hex')), 'UTF8'))
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
alter table sealed_days enable trigger sealed_days_append_only;

-- Down Migration

do $$ begin raise exception 'digests of the rows are not taken back: restore a backup from before this migration'; end $$;
