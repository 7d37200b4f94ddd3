-- Accounts, keys and the ledger. Amounts are bigint nano units (1e-9); days are UTC days of the database clock.
--
-- Locking: the accounts row is the mutex of everything an account owns (its balances, diem days, keys' usage, holds,
-- operations). Every statement that moves money first locks the accounts rows it needs, in id order, and only then reads
-- the rest with a fresh snapshot. One order everywhere, so there is nothing to deadlock on.

-- Roles belong to the whole cluster, and several databases may be migrated at once: losing the race is success.
do $$
begin
  for attempt in 1..5 loop
    begin
      if not exists (select from pg_roles where rolname = 'farebox_app') then
        create role farebox_app nologin;
      end if;
      if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant farebox_app to %I', current_user);
      end if;
      exit;
    exception
      -- The role was made by somebody else, who also says who may take it.
      when insufficient_privilege then exit;
      when duplicate_object or unique_violation or internal_error then
      perform pg_sleep(0.05 * attempt);
    end;
  end loop;
end $$;

-- The one clock of the ledger. Its own function so that a test database can stand at the edge of a day.
create function ledger_now() returns timestamptz language sql volatile as 'select clock_timestamp()';

create table accounts (
  id uuid primary key default gen_random_uuid(),
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'suspended')),
  diem_daily_allocation bigint not null default 0 check (diem_daily_allocation >= 0),
  usd_posted bigint not null default 0,
  usd_held bigint not null default 0 check (usd_held between 0 and usd_posted),
  bundled_posted bigint not null default 0,
  bundled_held bigint not null default 0 check (bundled_held between 0 and bundled_posted),
  vcu_posted bigint not null default 0 check (vcu_posted >= 0),
  created_at timestamptz not null default ledger_now()
) with (fillfactor = 50);

-- diem of one UTC day, made on first use with the day's allocation. Yesterday's rest simply is not today's row.
create table diem_days (
  account_id uuid not null references accounts,
  day date not null,
  -- What the day started with; a later change of the account's allocation starts with the next day.
  allocation bigint not null check (allocation >= 0),
  posted bigint not null,
  held bigint not null default 0 check (held between 0 and posted),
  primary key (account_id, day)
) with (fillfactor = 80);

create table api_keys (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null references accounts,
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  key_type text not null check (key_type in ('ADMIN', 'INFERENCE')),
  description text not null default '' check (length(description) <= 64),
  last6 text not null check (length(last6) = 6),
  limit_usd bigint check (limit_usd >= 0),
  limit_diem bigint check (limit_diem >= 0),
  limit_vcu bigint check (limit_vcu >= 0),
  limit_period text not null default 'EPOCH' check (limit_period in ('EPOCH', 'MONTH', 'LIFETIME')),
  -- When the limits last changed: what was admitted before is not held to them by the check of the ledger.
  limits_changed_at timestamptz not null default ledger_now(),
  model_privacy text not null default 'ALL' check (model_privacy in ('ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY')),
  created_at timestamptz not null default ledger_now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
) with (fillfactor = 80);
create index api_keys_account on api_keys (account_id, created_at);

-- What a key spent and holds, by UTC day; usd counts bundled credit too. A month or a lifetime is the sum of its days,
-- so a changed limit or period needs no recount, and a refund to a past day counts where the charge did.
create table key_days (
  key_id uuid not null references api_keys,
  day date not null,
  usd_used bigint not null default 0 check (usd_used >= 0),
  usd_held bigint not null default 0 check (usd_held >= 0),
  diem_used bigint not null default 0 check (diem_used >= 0),
  diem_held bigint not null default 0 check (diem_held >= 0),
  primary key (key_id, day)
) with (fillfactor = 70);

-- The identity of everything that moves money, and its outcome: what makes a repeated call return the first answer.
-- Small and without a time key, so that transfers can be partitioned by time.
create table operations (
  operation_id text collate "C" not null check (length(operation_id) between 1 and 200),
  kind text collate "C" not null check (kind in ('charge', 'refund', 'top_up', 'grant', 'adjustment')),
  account_id uuid not null,
  state text not null check (state in ('held', 'settled', 'released', 'expired', 'done')),
  -- The UTC day a charge belongs to, fixed when it is admitted: its key's period and its diem day.
  day date,
  key_id uuid,
  -- charge: what was asked, until a settlement says what it came to.
  price_usd bigint,
  price_diem bigint,
  -- What a hold reserved; null for a charge without a hold.
  held_diem bigint,
  held_bundled bigint,
  held_usd bigint,
  -- What was finally moved; null while held.
  diem bigint,
  bundled bigint,
  usd bigint,
  -- charge: the refund that undid it. refund: the charge that it undoes.
  counterpart text,
  created_at timestamptz not null,
  primary key (operation_id, kind),
  check (state <> 'held' or (held_diem is not null and held_bundled is not null and held_usd is not null)),
  check ((state = 'held') = (diem is null) and (diem is null) = (bundled is null) and (diem is null) = (usd is null)),
  -- Settle never exceeds the hold.
  check (held_usd is null or usd is null or (diem <= held_diem and bundled <= held_bundled and usd <= held_usd))
) with (fillfactor = 70);

-- Open holds only: a resolved one leaves, its outcome stays in operations and its snapshot goes to the transfers.
create table holds (
  operation_id text collate "C" primary key,
  account_id uuid not null,
  expires_at timestamptz not null,
  snapshot jsonb not null
  -- Rows live for seconds: cleaned by their number, however large the table once was.
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
create index holds_expiry on holds (expires_at);

-- Double entry in one row: `amount` is added to the account and taken from the house account, so entries cannot fail to
-- sum to zero. House accounts have no stored balance: that row would serialise everything. ids are taken under the
-- account's lock, so within an account their order is the order of commit.
create table transfers (
  id bigint generated always as identity,
  created_at timestamptz not null,
  operation_id text collate "C" not null,
  kind text not null check (kind in ('charge', 'refund', 'top_up', 'grant', 'adjustment')),
  account_id uuid not null,
  house text not null check (house in ('revenue', 'payments', 'issuance', 'adjustments')),
  currency text not null check (currency in ('diem', 'bundled', 'usd', 'vcu')),
  amount bigint not null check (amount <> 0),
  -- The UTC day it belongs to: the day of the diem row and of the key's usage. A refund has the day of its charge.
  day date not null,
  key_id uuid,
  details jsonb not null,
  primary key (account_id, created_at, id),
  check (kind <> 'charge' or (amount < 0 and house = 'revenue')),
  check (kind <> 'refund' or (amount > 0 and house = 'revenue')),
  check (kind <> 'top_up' or (amount > 0 and house = 'payments')),
  check (kind <> 'grant' or (amount > 0 and house = 'issuance'))
);

create view entries as
  select id as transfer_id, operation_id, kind, 'account'::text as side, account_id, house, currency, day, amount,
    created_at
  from transfers
  union all
  select id, operation_id, kind, 'house', account_id, house, currency, day, -amount, created_at from transfers;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: correct it with a new transfer', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger transfers_append_only before update or delete or truncate on transfers
  for each statement execute function refuse_change();

-- A limit may change while money moves: taking the account's lock puts the change before or after each admission.
create function note_limit_change() returns trigger language plpgsql as $$
begin
  perform from accounts where id = new.account_id for no key update;
  new.limits_changed_at := ledger_now();
  return new;
end $$;
create trigger api_keys_limits before update on api_keys for each row
  when ((old.limit_usd, old.limit_diem, old.limit_vcu, old.limit_period)
    is distinct from (new.limit_usd, new.limit_diem, new.limit_vcu, new.limit_period))
  execute function note_limit_change();

-- The usd price of what is still open after `paid` diem: the same proportion, rounded up once. A price of no diem is not
-- sold for diem; a price of no usd is not sold for usd, which is null unless diem paid it all.
create function ledger_rest(usd_price bigint, diem_price bigint, paid bigint) returns bigint
language sql immutable parallel safe as $$
  select case
    when diem_price = 0 then usd_price
    when paid >= diem_price then 0
    when usd_price = 0 then null
    when usd_price = diem_price then usd_price - paid
    else div(usd_price::numeric * (diem_price - paid) + diem_price - 1, diem_price)::bigint
  end
$$;

-- The first UTC day that counts towards a key's limit.
create function ledger_period_start(period text, today date) returns date language sql immutable parallel safe as $$
  select case period
    when 'EPOCH' then today
    when 'MONTH' then date_trunc('month', today::timestamp)::date
    else '-infinity'::date
  end
$$;

-- Makes today's diem row with the day's allocation, with its grant: once per account and day.
create function ledger_open_diem(account_ids uuid[], today date, at timestamptz) returns void language sql as $$
  with fresh as (
    insert into diem_days (account_id, day, allocation, posted)
    select a.id, today, a.diem_daily_allocation, a.diem_daily_allocation from accounts a where a.id = any (account_ids)
    on conflict do nothing
    returning account_id, posted
  ), named as (
    select 'diem:' || account_id || ':' || today as operation_id, account_id, posted from fresh where posted > 0
  ), noted as (
    insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
    select operation_id, 'grant', account_id, 'done', today, posted, 0, 0, at from named
  )
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
  select at, operation_id, 'grant', account_id, 'issuance', 'diem', posted, today, '{"notes": "daily allocation"}'
  from named
$$;

-- The one admission: decides holds (`as_hold`) and immediate charges, any number at once, as if one after the other in
-- the order given. Each fits or changes nothing. Outcomes: held, charged, insufficient, key_limit (with the currency),
-- and for callers' mistakes no_account, no_key, conflict (the id already means something else).
create function ledger_admit(
  as_hold boolean, operation_ids text[], account_ids uuid[], key_ids uuid[],
  usd_prices bigint[], diem_prices bigint[], ttls_ms bigint[], snapshots jsonb[]
) returns table (
  ord bigint, outcome text, limited text, part_diem bigint, part_bundled bigint, part_usd bigint, state text,
  replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  n constant int := cardinality(operation_ids);
  success constant text := case when as_hold then 'held' else 'charged' end;
  first_state constant text := case when as_hold then 'held' else 'settled' end;
  at timestamptz;
  today date;
  r record;
  i int;
  walked uuid;
  free_diem bigint; free_bundled bigint; free_usd bigint;
  room_seen boolean[] := '{}'; room_usd bigint[] := '{}'; room_diem bigint[] := '{}';
  x_diem bigint; x_rest bigint; y_rest bigint; k_usd bigint; k_diem bigint;
  admitted boolean[] := array_fill(false, array[n]);
  outcomes text[] := array_fill(null::text, array[n]);
  limits text[] := array_fill(null::text, array[n]);
  diems bigint[] := array_fill(0::bigint, array[n]);
  bundleds bigint[] := array_fill(0::bigint, array[n]);
  usds bigint[] := array_fill(0::bigint, array[n]);
  states text[] := array_fill(null::text, array[n]);
  replays boolean[] := array_fill(false, array[n]);
  any_diem boolean := false; any_admitted boolean := false;
begin
  perform 1 from accounts where id = any (account_ids) order by id for no key update;
  -- After the locks: whoever waited past midnight belongs to the new day.
  at := ledger_now();
  today := (at at time zone 'UTC')::date;

  for r in
    select q.ord, q.account_id, q.usd, q.diem,
      a.id is null as no_account,
      q.key_id is not null and k.account_id is distinct from q.account_id as no_key,
      coalesce(d.posted - d.held, a.diem_daily_allocation) as free_diem,
      a.bundled_posted - a.bundled_held as free_bundled,
      a.usd_posted - a.usd_held as free_usd,
      dense_rank() over (order by q.key_id) as slot,
      k.limit_usd - used.usd as room_usd,
      k.limit_diem - used.diem as room_diem,
      min(q.ord) over (partition by q.operation_id) as first_ord,
      o.account_id as known_account, o.state as known_state, o.held_usd is not null as known_hold,
      coalesce(o.held_diem, o.diem) as known_diem, coalesce(o.held_bundled, o.bundled) as known_bundled,
      coalesce(o.held_usd, o.usd) as known_usd
    from unnest(operation_ids, account_ids, key_ids, usd_prices, diem_prices)
      with ordinality as q (operation_id, account_id, key_id, usd, diem, ord)
    left join accounts a on a.id = q.account_id
    left join diem_days d on d.account_id = q.account_id and d.day = today
    left join operations o on o.operation_id = q.operation_id and o.kind = 'charge'
    left join api_keys k on k.id = q.key_id
    left join lateral (
      select coalesce(sum(u.usd_used + u.usd_held), 0)::bigint as usd,
        coalesce(sum(u.diem_used + u.diem_held), 0)::bigint as diem
      from key_days u
      where u.key_id = k.id and u.day >= ledger_period_start(k.limit_period, today)
    ) used on k.limit_usd is not null or k.limit_diem is not null
    order by q.account_id, q.ord
  loop
    i := r.ord;
    if walked is distinct from r.account_id then
      walked := r.account_id;
      free_diem := r.free_diem; free_bundled := r.free_bundled; free_usd := r.free_usd;
    end if;
    if r.known_account is not null then
      if r.known_account <> r.account_id or r.known_hold <> as_hold then
        outcomes[i] := 'conflict';
      else
        outcomes[i] := success; states[i] := r.known_state; replays[i] := true;
        diems[i] := r.known_diem; bundleds[i] := r.known_bundled; usds[i] := r.known_usd;
      end if;
      continue;
    elsif r.first_ord < i then
      if account_ids[r.first_ord] <> r.account_id then
        outcomes[i] := 'conflict';
      else
        outcomes[i] := outcomes[r.first_ord]; limits[i] := limits[r.first_ord]; states[i] := states[r.first_ord];
        diems[i] := diems[r.first_ord]; bundleds[i] := bundleds[r.first_ord]; usds[i] := usds[r.first_ord];
        replays[i] := admitted[r.first_ord];
      end if;
      continue;
    elsif r.no_account or r.no_key then
      outcomes[i] := case when r.no_account then 'no_account' else 'no_key' end;
      continue;
    end if;

    if room_seen[r.slot] is null then
      room_seen[r.slot] := true; room_usd[r.slot] := r.room_usd; room_diem[r.slot] := r.room_diem;
    end if;
    -- Null is no limit, and least() passes over nulls.
    k_usd := room_usd[r.slot]; k_diem := room_diem[r.slot];
    x_diem := greatest(least(r.diem, free_diem, k_diem), 0);
    x_rest := ledger_rest(r.usd, r.diem, x_diem);
    if x_rest <= free_bundled + free_usd and (k_usd is null or x_rest <= greatest(k_usd, 0)) then
      admitted[i] := true; any_admitted := true; outcomes[i] := success; states[i] := first_state;
      diems[i] := x_diem; bundleds[i] := least(free_bundled, x_rest); usds[i] := x_rest - bundleds[i];
      free_diem := free_diem - x_diem; free_bundled := free_bundled - bundleds[i]; free_usd := free_usd - usds[i];
      if k_usd is not null then room_usd[r.slot] := k_usd - x_rest; end if;
      if k_diem is not null then room_diem[r.slot] := k_diem - x_diem; end if;
      any_diem := any_diem or x_diem > 0;
    else
      y_rest := ledger_rest(r.usd, r.diem, least(r.diem, free_diem));
      outcomes[i] := 'key_limit';
      if x_rest <= free_bundled + free_usd then
        limits[i] := 'usd';
      elsif y_rest <= free_bundled + free_usd then
        limits[i] := case when k_usd is null or y_rest <= greatest(k_usd, 0) then 'diem' else 'usd' end;
      else
        outcomes[i] := 'insufficient';
      end if;
    end if;
  end loop;

  if any_admitted then
    if any_diem then
      perform ledger_open_diem(array(
        select distinct q.account_id from unnest(account_ids, diems, admitted) as q (account_id, diem, admitted)
        where q.admitted and q.diem > 0), today, at);
      update diem_days d set
        held = d.held + case when as_hold then s.diem else 0 end,
        posted = d.posted - case when as_hold then 0 else s.diem end
      from (
        select q.account_id, sum(q.diem)::bigint as diem
        from unnest(account_ids, diems, admitted) as q (account_id, diem, admitted)
        where q.admitted and q.diem > 0 group by q.account_id
      ) s
      where d.account_id = s.account_id and d.day = today;
    end if;

    update accounts a set
      usd_held = a.usd_held + case when as_hold then s.usd else 0 end,
      usd_posted = a.usd_posted - case when as_hold then 0 else s.usd end,
      bundled_held = a.bundled_held + case when as_hold then s.bundled else 0 end,
      bundled_posted = a.bundled_posted - case when as_hold then 0 else s.bundled end
    from (
      select q.account_id, sum(q.usd)::bigint as usd, sum(q.bundled)::bigint as bundled
      from unnest(account_ids, bundleds, usds, admitted) as q (account_id, bundled, usd, admitted)
      where q.admitted group by q.account_id
    ) s
    where a.id = s.account_id and (s.usd > 0 or s.bundled > 0);

    insert into key_days as u (key_id, day, usd_used, usd_held, diem_used, diem_held)
    select q.key_id, today,
      case when as_hold then 0 else sum(q.usd) end, case when as_hold then sum(q.usd) else 0 end,
      case when as_hold then 0 else sum(q.diem) end, case when as_hold then sum(q.diem) else 0 end
    from (
      select p.key_id, p.bundled + p.usd as usd, p.diem
      from unnest(key_ids, diems, bundleds, usds, admitted) as p (key_id, diem, bundled, usd, admitted)
      where p.admitted and p.key_id is not null
    ) q
    group by q.key_id
    on conflict (key_id, day) do update set
      usd_used = u.usd_used + excluded.usd_used, usd_held = u.usd_held + excluded.usd_held,
      diem_used = u.diem_used + excluded.diem_used, diem_held = u.diem_held + excluded.diem_held;

    insert into operations (operation_id, kind, account_id, state, day, key_id, price_usd, price_diem,
      held_diem, held_bundled, held_usd, diem, bundled, usd, created_at)
    select q.operation_id, 'charge', q.account_id, first_state, today, q.key_id, q.usd_price, q.diem_price,
      case when as_hold then q.diem end, case when as_hold then q.bundled end, case when as_hold then q.usd end,
      case when not as_hold then q.diem end, case when not as_hold then q.bundled end,
      case when not as_hold then q.usd end, at
    from unnest(operation_ids, account_ids, key_ids, usd_prices, diem_prices, diems, bundleds, usds, admitted)
      as q (operation_id, account_id, key_id, usd_price, diem_price, diem, bundled, usd, admitted)
    where q.admitted;

    if as_hold then
      insert into holds (operation_id, account_id, expires_at, snapshot)
      select q.operation_id, q.account_id, at + q.ttl_ms * interval '1 millisecond', q.snapshot
      from unnest(operation_ids, account_ids, ttls_ms, snapshots, admitted)
        as q (operation_id, account_id, ttl_ms, snapshot, admitted)
      where q.admitted;
    else
      insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
      select at, q.operation_id, 'charge', q.account_id, 'revenue', p.currency, -p.amount, today, q.key_id, q.snapshot
      from unnest(operation_ids, account_ids, key_ids, diems, bundleds, usds, snapshots, admitted)
        with ordinality as q (operation_id, account_id, key_id, diem, bundled, usd, snapshot, admitted, ord)
      cross join lateral (values ('diem', q.diem), ('bundled', q.bundled), ('usd', q.usd)) p (currency, amount)
      where q.admitted and p.amount > 0
      order by q.ord;
    end if;
  end if;

  return query
    select q.ord, q.outcome, q.limited, q.diem, q.bundled, q.usd, q.state, q.replayed
    from unnest(outcomes, limits, diems, bundleds, usds, states, replays)
      with ordinality as q (outcome, limited, diem, bundled, usd, state, replayed, ord);
end $$;

-- The one way out of a hold, for any number at once: `settled` at a price up to the hold, `released` or `expired` at
-- nothing. The first resolution of an operation stands; any later one gets its outcome back. no_hold: never held.
create function ledger_resolve(
  operation_ids text[], resolutions text[], usd_prices bigint[], diem_prices bigint[], details jsonb[]
) returns table (
  ord bigint, outcome text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  n constant int := cardinality(operation_ids);
  at timestamptz;
  r record;
  i int;
  x_rest bigint;
  outcomes text[] := array_fill(null::text, array[n]);
  diems bigint[] := array_fill(0::bigint, array[n]);
  bundleds bigint[] := array_fill(0::bigint, array[n]);
  usds bigint[] := array_fill(0::bigint, array[n]);
  replays boolean[] := array_fill(false, array[n]);
  -- Of those that this call resolves, null for all others.
  accounts_of uuid[] := array_fill(null::uuid, array[n]);
  keys_of uuid[] := array_fill(null::uuid, array[n]);
  days date[] := array_fill(null::date, array[n]);
  held_diems bigint[] := array_fill(null::bigint, array[n]);
  held_bundleds bigint[] := array_fill(null::bigint, array[n]);
  held_usds bigint[] := array_fill(null::bigint, array[n]);
  snapshots jsonb[] := array_fill(null::jsonb, array[n]);
  any_diem boolean := false; any_resolved boolean := false;
begin
  perform 1 from accounts where id = any (array(
    select o.account_id from operations o where o.operation_id = any (operation_ids) and o.kind = 'charge'
  )) order by id for no key update;
  at := ledger_now();

  for r in
    select q.ord, q.resolution, q.usd_price, q.diem_price, q.details,
      min(q.ord) over (partition by q.operation_id) as first_ord,
      o.account_id, o.key_id, o.day, o.state, o.held_diem, o.held_bundled, o.held_usd, o.diem, o.bundled, o.usd,
      h.snapshot
    from unnest(operation_ids, resolutions, usd_prices, diem_prices, details)
      with ordinality as q (operation_id, resolution, usd_price, diem_price, details, ord)
    left join operations o on o.operation_id = q.operation_id and o.kind = 'charge'
    left join holds h on h.operation_id = q.operation_id
    order by q.ord
  loop
    i := r.ord;
    if r.state is null then
      outcomes[i] := 'no_hold';
    elsif r.state <> 'held' then
      outcomes[i] := r.state; replays[i] := true;
      diems[i] := r.diem; bundleds[i] := r.bundled; usds[i] := r.usd;
    elsif r.first_ord < i then
      outcomes[i] := outcomes[r.first_ord]; replays[i] := true;
      diems[i] := diems[r.first_ord]; bundleds[i] := bundleds[r.first_ord]; usds[i] := usds[r.first_ord];
    else
      outcomes[i] := r.resolution; any_resolved := true;
      accounts_of[i] := r.account_id; keys_of[i] := r.key_id; days[i] := r.day;
      held_diems[i] := r.held_diem; held_bundleds[i] := r.held_bundled; held_usds[i] := r.held_usd;
      snapshots[i] := case when r.details is null then r.snapshot else r.snapshot || r.details end;
      -- Never more than the hold, whatever the price says.
      diems[i] := least(r.diem_price, r.held_diem);
      x_rest := least(coalesce(ledger_rest(r.usd_price, r.diem_price, diems[i]), 0), r.held_bundled + r.held_usd);
      bundleds[i] := least(x_rest, r.held_bundled);
      usds[i] := x_rest - bundleds[i];
      any_diem := any_diem or r.held_diem > 0;
    end if;
  end loop;

  if any_resolved then
    delete from holds h using unnest(operation_ids, accounts_of) as q (operation_id, account_id)
    where h.operation_id = q.operation_id and q.account_id is not null;

    update operations o set state = q.outcome, diem = q.diem, bundled = q.bundled, usd = q.usd,
      price_usd = case when q.outcome = 'settled' then q.usd_price else o.price_usd end,
      price_diem = case when q.outcome = 'settled' then q.diem_price else o.price_diem end
    from unnest(operation_ids, accounts_of, outcomes, diems, bundleds, usds, usd_prices, diem_prices)
      as q (operation_id, account_id, outcome, diem, bundled, usd, usd_price, diem_price)
    where o.operation_id = q.operation_id and o.kind = 'charge' and q.account_id is not null;

    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, q.operation_id, 'charge', q.account_id, 'revenue', p.currency, -p.amount, q.day, q.key_id, q.snapshot
    from unnest(operation_ids, accounts_of, keys_of, days, diems, bundleds, usds, snapshots)
      with ordinality as q (operation_id, account_id, key_id, day, diem, bundled, usd, snapshot, ord)
    cross join lateral (values ('diem', q.diem), ('bundled', q.bundled), ('usd', q.usd)) p (currency, amount)
    where q.account_id is not null and p.amount > 0
    order by q.ord;

    update accounts a set
      usd_held = a.usd_held - s.held_usd, usd_posted = a.usd_posted - s.usd,
      bundled_held = a.bundled_held - s.held_bundled, bundled_posted = a.bundled_posted - s.bundled
    from (
      select q.account_id, sum(q.held_usd)::bigint as held_usd, sum(q.usd)::bigint as usd,
        sum(q.held_bundled)::bigint as held_bundled, sum(q.bundled)::bigint as bundled
      from unnest(accounts_of, held_bundleds, held_usds, bundleds, usds)
        as q (account_id, held_bundled, held_usd, bundled, usd)
      where q.account_id is not null and q.held_bundled + q.held_usd > 0 group by q.account_id
    ) s
    where a.id = s.account_id;

    if any_diem then
      update diem_days d set held = d.held - s.held, posted = d.posted - s.diem
      from (
        select q.account_id, q.day, sum(q.held)::bigint as held, sum(q.diem)::bigint as diem
        from unnest(accounts_of, days, held_diems, diems) as q (account_id, day, held, diem)
        where q.account_id is not null and q.held > 0 group by q.account_id, q.day
      ) s
      where d.account_id = s.account_id and d.day = s.day;
    end if;

    update key_days u set
      usd_held = u.usd_held - s.held_usd, usd_used = u.usd_used + s.usd,
      diem_held = u.diem_held - s.held_diem, diem_used = u.diem_used + s.diem
    from (
      select q.key_id, q.day, sum(q.held_usd + q.held_bundled)::bigint as held_usd,
        sum(q.usd + q.bundled)::bigint as usd, sum(q.held_diem)::bigint as held_diem, sum(q.diem)::bigint as diem
      from unnest(keys_of, days, held_diems, held_bundleds, held_usds, diems, bundleds, usds)
        as q (key_id, day, held_diem, held_bundled, held_usd, diem, bundled, usd)
      where q.key_id is not null group by q.key_id, q.day
    ) s
    where u.key_id = s.key_id and u.day = s.day;
  end if;

  return query
    select q.ord, q.outcome, q.diem, q.bundled, q.usd, q.replayed
    from unnest(outcomes, diems, bundleds, usds, replays) with ordinality as q (outcome, diem, bundled, usd, replayed, ord);
end $$;

-- Expires at most `most` forgotten holds in the user's favour; the number that this call really expired. One at a time:
-- a second caller finds the lock taken and has nothing to do.
create function ledger_expire(most int) returns bigint language plpgsql as $$
declare
  due text[];
begin
  if not pg_try_advisory_xact_lock(hashtext('farebox ledger_expire')) then
    return 0;
  end if;
  due := array(select operation_id from holds where expires_at <= ledger_now() order by expires_at limit most);
  return (
    select count(*) from ledger_resolve(due, array_fill('expired'::text, array[cardinality(due)]),
      array_fill(0::bigint, array[cardinality(due)]), array_fill(0::bigint, array[cardinality(due)]),
      array_fill(null::jsonb, array[cardinality(due)]))
    where outcome = 'expired' and not replayed
  );
end $$;

-- Undoes a charge, once, up to its amount, into the same currencies and the same day: a diem day that is past gets it
-- back without today's balance changing. Given amounts return usd first, then bundled, then diem: as if the charge had
-- been that much smaller. Outcomes: refunded, no_charge, conflict.
create function ledger_refund(
  refund_id text, charge_id text, reason text, usd_amount bigint default null, diem_amount bigint default null
) returns table (
  outcome text, first_id text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
  c operations;
  f operations;
  rest bigint;
begin
  perform 1 from accounts where id = (
    select o.account_id from operations o where o.operation_id = charge_id and o.kind = 'charge'
  ) for no key update;
  select * into c from operations o where o.operation_id = charge_id and o.kind = 'charge';
  if c.state is distinct from 'settled' then
    return query select 'no_charge', null::text, 0::bigint, 0::bigint, 0::bigint, false;
    return;
  end if;
  select * into f from operations o where o.operation_id = coalesce(c.counterpart, refund_id) and o.kind = 'refund';
  if f.operation_id is not null then
    return query select case when f.counterpart = charge_id then 'refunded' else 'conflict' end,
      f.operation_id, f.diem, f.bundled, f.usd, true;
    return;
  end if;

  at := ledger_now();
  f.usd := c.usd; f.bundled := c.bundled; f.diem := c.diem;
  if usd_amount is not null then
    f.usd := least(c.usd, usd_amount);
    f.bundled := least(c.bundled, usd_amount - f.usd);
    rest := usd_amount - f.usd - f.bundled;
    f.diem := least(c.diem, case
      when usd_amount = 0 then diem_amount
      when c.usd + c.bundled = 0 then diem_amount
      else div(diem_amount::numeric * rest + usd_amount - 1, usd_amount) end::bigint);
  end if;

  update accounts set usd_posted = usd_posted + f.usd, bundled_posted = bundled_posted + f.bundled
    where id = c.account_id and (f.usd > 0 or f.bundled > 0);
  update diem_days set posted = posted + f.diem where account_id = c.account_id and day = c.day and f.diem > 0;
  update key_days set usd_used = usd_used - f.usd - f.bundled, diem_used = diem_used - f.diem
    where key_id = c.key_id and day = c.day;
  update operations set counterpart = refund_id where operation_id = charge_id and kind = 'charge';
  insert into operations (operation_id, kind, account_id, state, day, key_id, diem, bundled, usd, counterpart, created_at)
    values (refund_id, 'refund', c.account_id, 'done', c.day, c.key_id, f.diem, f.bundled, f.usd, charge_id, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, refund_id, 'refund', c.account_id, 'revenue', m.currency, m.amount, c.day, c.key_id,
      jsonb_build_object('charge', charge_id, 'reason', reason)
    from (values ('diem', f.diem), ('bundled', f.bundled), ('usd', f.usd)) m (currency, amount)
    where m.amount > 0;
  return query select 'refunded', refund_id, f.diem, f.bundled, f.usd, false;
end $$;

-- Credit from outside: top_up, grant (not diem, which has exactly one grant a day) and adjustment (either sign, but
-- never below what is held). Outcomes: posted, insufficient, no_account, conflict.
create function ledger_post(
  post_id text, post_kind text, account uuid, post_currency text, post_amount bigint, post_details jsonb
) returns table (outcome text, replayed boolean) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
  today date;
  known operations;
  free bigint;
begin
  perform 1 from accounts where id = account for no key update;
  if not found then
    return query select 'no_account', false;
    return;
  end if;
  select * into known from operations o where o.operation_id = post_id and o.kind = post_kind;
  if found then
    return query select case when known.account_id = account then 'posted' else 'conflict' end, true;
    return;
  end if;
  at := ledger_now();
  today := (at at time zone 'UTC')::date;
  if post_currency = 'diem' then
    perform ledger_open_diem(array[account], today, at);
  end if;
  select case post_currency
    when 'usd' then a.usd_posted - a.usd_held
    when 'bundled' then a.bundled_posted - a.bundled_held
    when 'vcu' then a.vcu_posted
    else (select d.posted - d.held from diem_days d where d.account_id = account and d.day = today)
  end into free from accounts a where a.id = account;
  if free + post_amount < 0 then
    return query select 'insufficient', false;
    return;
  end if;

  update accounts set
    usd_posted = usd_posted + case post_currency when 'usd' then post_amount else 0 end,
    bundled_posted = bundled_posted + case post_currency when 'bundled' then post_amount else 0 end,
    vcu_posted = vcu_posted + case post_currency when 'vcu' then post_amount else 0 end
  where id = account and post_currency <> 'diem';
  update diem_days set posted = posted + post_amount
    where account_id = account and day = today and post_currency = 'diem';
  insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
    values (post_id, post_kind, account, 'done', today,
      case post_currency when 'diem' then post_amount else 0 end,
      case post_currency when 'bundled' then post_amount else 0 end,
      case post_currency when 'usd' then post_amount else 0 end, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
    values (at, post_id, post_kind, account,
      case post_kind when 'top_up' then 'payments' when 'grant' then 'issuance' else 'adjustments' end,
      post_currency, post_amount, today, post_details);
  return query select 'posted', false;
end $$;

-- The services' role: nobody who holds it can change history.
grant usage on schema public to farebox_app;
grant select, insert, update on accounts, diem_days, api_keys, key_days, operations to farebox_app;
grant select, insert, update, delete on holds to farebox_app;
grant select, insert on transfers to farebox_app;
grant select on entries to farebox_app;
-- Tables of later migrations; those that must not change take it back themselves.
alter default privileges in schema public grant select, insert, update, delete on tables to farebox_app;
alter default privileges in schema public grant usage, select on sequences to farebox_app;
