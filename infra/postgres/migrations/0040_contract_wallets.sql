-- Up Migration

-- A wallet that is a contract has its chain behind its address ("0x… eip155:8453"): another contract at the same address on
-- another chain may have another owner. Accounts that contracts opened before keep their name, which has no chain: they
-- belong to the contract of the chain on which the first payment came.
alter table wallet_accounts drop constraint wallet_accounts_address_check;
alter table wallet_accounts add check (length(address) between 32 and 100);
alter table wallet_accounts add column contract_network text;
update wallet_accounts w set contract_network = (
  select t.network from top_ups t where t.account_id = w.account_id and t.state = 'credited'
  order by t.created_at limit 1)
where w.family = 'evm';

-- Down Migration

delete from wallet_accounts where length(address) > 44;
alter table wallet_accounts drop column contract_network;
alter table wallet_accounts drop constraint wallet_accounts_address_check;
alter table wallet_accounts add check (length(address) between 32 and 44);
