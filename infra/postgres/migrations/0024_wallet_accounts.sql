-- Up Migration

-- Whose account belongs to a wallet. The account's id is made from the address, so that it is known before there is a row;
-- the row comes with the first top-up or the first key.
create table wallet_accounts (
  account_id uuid primary key references accounts (id),
  family text not null check (family in ('evm', 'solana')),
  -- In its one spelling: evm in lower case with 0x, Solana in base58.
  address text not null check (length(address) between 32 and 44),
  created_at timestamptz not null default clock_timestamp(),
  unique (family, address)
);
grant select, insert on wallet_accounts to farebox_app;
revoke update, delete on wallet_accounts from farebox_app;

-- Down Migration

drop table wallet_accounts;
