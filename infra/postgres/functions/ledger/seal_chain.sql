-- Digest over a seal and the seal before it, so that no seal can be changed or removed unseen.
create or replace function seal_chain(before bytea, seal sealed_days)
returns bytea language sql stable parallel safe as $$
  select sha256(coalesce(before, '') || convert_to(concat_ws('|', to_char(seal.day, 'YYYY-MM-DD'), seal.transfers,
    seal.operations, seal.jobs, seal.sums::text, seal.transfers_hash::text, seal.operations_hash::text,
    seal.jobs_hash::text, encode(seal.sums_digest, 'hex')), 'UTF8'))
$$;
