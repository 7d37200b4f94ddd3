-- Up Migration

-- Payments by which wallets top up, one row each, written before anything is handed in. What makes a payment one and the
-- same is what the network itself lets happen only once; `id` is derived from it. A payment is credited by the same
-- transaction that says so here.
create table top_ups (
  id text collate "C" primary key check (id ~ '^x402-[0-9a-f]{32}$'),
  network text not null,
  asset text not null,
  payer_family text not null check (payer_family in ('evm', 'solana')),
  payer text not null,
  nonce text not null check (length(nonce) between 1 and 200),
  -- Of the payer's wallet; its row comes with the first credit.
  account_id uuid not null,
  -- What the payer signed, as a digest: another payment with the same nonce is another payment.
  terms text not null check (terms ~ '^[0-9a-f]{64}$'),
  -- Smallest units of the token, as signed.
  amount bigint not null check (amount > 0),
  decimals smallint not null check (decimals between 0 and 9),
  -- What can be handed in; gone when there is nothing left to do with it.
  payment jsonb,
  state text not null default 'recorded' check (
    state in ('recorded', 'settling', 'sent', 'unknown', 'refused', 'credited', 'failed', 'wrong')),
  -- How often it was handed in: again only after a certain refusal.
  settlements smallint not null default 0 check (settlements between 0 and 20),
  -- Where it is on the chain, or where somebody says it is while it is not final.
  transaction text,
  -- What was read on the chain, in smallest units, and given in nano units.
  credited_units bigint check (credited_units > 0),
  credited_nano bigint check (credited_nano > 0),
  -- Why it was refused, failed or is wrong; for the operator.
  reason text,
  request_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  unique (network, asset, payer, nonce),
  check ((state = 'credited') = (credited_nano is not null) and (credited_nano is null) = (credited_units is null)),
  check ((payment is null) = (state in ('credited', 'failed', 'wrong')))
);
-- Those that are not over: few, and looked through every minute.
create index top_ups_pending on top_ups (changed_at) where state not in ('credited', 'failed', 'wrong');

-- A state only moves forward; what is final stays as it is.
create function keep_final_top_ups() returns trigger language plpgsql as $$
begin
  if old.state in ('credited', 'failed', 'wrong') then
    raise exception 'top-up % is %', old.id, old.state using errcode = 'restrict_violation';
  end if;
  new.changed_at := clock_timestamp();
  return new;
end $$;
create trigger top_ups_forward before update on top_ups for each row execute function keep_final_top_ups();

revoke all on top_ups from farebox_app;
grant select, insert on top_ups to farebox_app;
grant update (payment, state, settlements, transaction, credited_units, credited_nano, reason, changed_at)
  on top_ups to farebox_app;

-- Down Migration

drop table top_ups;
drop function keep_final_top_ups;
