-- Up Migration

-- When the order was last handed to its provider: how long places are kept is guessed from it.
alter table jobs add column submitted_at timestamptz;
-- SHA-256 of the calls of its provider that woke the job: each once, and only a few of them.
alter table jobs add column callbacks bytea[] not null default '{}';

-- A job has a place at its provider from the moment before it is handed over until its row leaves 'submitted', or until the
-- provider is known not to have taken it. Nothing else is counted, so a worker that dies can leave no place behind.
create index jobs_at_work on jobs (provider, account_id) include (submitted_at, created_at)
  where state = 'submitted' and submission <> 'not_accepted';
-- All others that still have to be handed over stand in line.
create index jobs_in_line on jobs (provider, account_id, created_at)
  where state = 'accepted' or (state = 'submitted' and submission = 'not_accepted');

-- What was handed to a provider in the last minute, for those that are asked only so often. Written under the provider's lock.
create table provider_starts (
  provider text not null,
  at timestamptz not null,
  account_id uuid not null
);
create index provider_starts_by_time on provider_starts (provider, at);

-- Whether a provider answers, as all processes see it. No row: nobody ever saw it fail.
create table provider_health (
  provider text primary key,
  -- In a row, without an answer in between.
  failures integer not null default 0,
  -- The last pause; each one is twice as long as the one before.
  pause_ms integer not null default 0,
  -- Null: closed. In the past: half open, one job finds out.
  open_until timestamptz,
  -- Whoever finds out has until then; should it die, the next one may.
  probe_until timestamptz
);
grant select, insert, delete on provider_starts to farebox_app;
grant select, insert, update on provider_health to farebox_app;

-- How many jobs of the same account stand before this one; more than 2,000 are not counted.
create function jobs_before(mine jobs) returns integer language sql volatile as $$
  select count(*)::integer from (
    select from jobs j where j.provider = mine.provider and j.account_id = mine.account_id
      and j.created_at < mine.created_at
      and (j.state = 'accepted' or (j.state = 'submitted' and j.submission = 'not_accepted'))
    limit 2000) as counted
$$;

-- Half a second for whoever is next, longer the more stand before: the line as a whole asks some fifty times a second,
-- however long it is. Spread, so that those who came together do not ask together.
create function line_pause(before integer, each_ms float8) returns integer language sql volatile as $$
  select (least(30000, greatest(500, before * greatest(20, each_ms))) * (0.75 + random() / 2))::integer
$$;

-- Milliseconds to wait before a job may take one of `most` places or starts, of which these accounts have one each time they
-- are named; null: now. An account has its share, the same as every other one that is there; what the others leave it may
-- take too, but not while one of them waits that has fewer.
create function share_wait(mine jobs, most integer, used uuid[], kept_ms float8) returns integer
language plpgsql volatile as $$
declare
  own integer;
  share integer;
  outdone boolean;
  before integer;
begin
  -- The waiting accounts one by one, each found by the index; of more than there is room for, all but a few have nothing.
  with recursive line (account_id) as (
    (select j.account_id from jobs j where j.provider = mine.provider
        and (j.state = 'accepted' or (j.state = 'submitted' and j.submission = 'not_accepted'))
      order by j.account_id limit 1)
    union all
    select further.account_id from line cross join lateral (
      select j.account_id from jobs j where j.provider = mine.provider and j.account_id > line.account_id
        and (j.state = 'accepted' or (j.state = 'submitted' and j.submission = 'not_accepted'))
      order by j.account_id limit 1) as further
  ), waiting as (
    select account_id from line limit most + 1
  ), having_some as (
    select account_id, count(*)::integer as uses from unnest(used) as u (account_id) group by account_id
  ), present as (
    select account_id, coalesce(h.uses, 0) as uses, w.account_id is not null as waits
      from waiting w full join having_some h using (account_id)
  ), mine_now as (
    select coalesce((select uses from present where account_id = mine.account_id), 0) as uses
  )
  select m.uses,
      ceil(most::numeric / greatest(1, (select count(*) from present)))::integer,
      exists (select from present p where p.waits and p.account_id <> mine.account_id and p.uses < m.uses)
    into own, share, outdone from mine_now m;
  if cardinality(used) < most and (own < share or not outdone) then return null; end if;
  before := jobs_before(mine) + 1 - greatest(0, share - own);
  return line_pause(before, kept_ms / share);
end $$;

-- The same for the limits of a provider; null where there is none.
create function line_wait(mine jobs, most_running integer, most_per_minute integer) returns integer
language plpgsql volatile as $$
declare
  used uuid[];
  kept_ms float8;
  wait_ms integer;
begin
  if most_running is not null then
    -- Met at any moment, a job is on average halfway through.
    select coalesce(array_agg(account_id), '{}'),
        coalesce(2000 * avg(extract(epoch from clock_timestamp() - coalesce(submitted_at, created_at))), 0)
      into used, kept_ms from jobs
      where provider = mine.provider and state = 'submitted' and submission <> 'not_accepted';
    wait_ms := share_wait(mine, most_running, used, kept_ms);
  end if;
  if wait_ms is null and most_per_minute is not null then
    select coalesce(array_agg(account_id), '{}') into used from provider_starts
      where provider = mine.provider and at > clock_timestamp() - interval '1 minute';
    wait_ms := share_wait(mine, most_per_minute, used, 60000);
  end if;
  return wait_ms;
end $$;

-- Milliseconds until a job may ask its provider at all; null: now. Of a half-open one whoever takes the turn finds out.
create function circuit_wait(mine jobs, take_turn boolean) returns integer language plpgsql volatile as $$
declare
  health provider_health;
  rests_ms float8;
begin
  select * into health from provider_health where provider = mine.provider;
  if health.open_until is null then return null; end if;
  rests_ms := greatest(0, 1000 * extract(epoch from health.open_until - clock_timestamp()));
  if rests_ms = 0 and coalesce(health.probe_until, '-infinity') <= clock_timestamp() then
    if not take_turn then return null; end if;
    update provider_health set probe_until = clock_timestamp() + interval '1 minute'
      where provider = mine.provider and open_until <= clock_timestamp()
        and coalesce(probe_until, '-infinity') <= clock_timestamp();
    if found then return null; end if;
  end if;
  return rests_ms + line_pause(jobs_before(mine), 20);
end $$;

-- What to do about handing a job to its provider, in one round trip: 'submit' (written ahead), 'ask', 'poll', 'stop', 'wait'.
-- No row: there is no such job.
create function open_submission(job uuid, most_running integer, most_per_minute integer)
returns table (go text, job_state text, job_operation jsonb, wait_ms integer, waits_for text)
language plpgsql volatile as $$
declare
  mine jobs;
  limited constant boolean := coalesce(most_running, most_per_minute) is not null;
begin
  -- First without a lock: most who wait are told to go on waiting, and must hold nobody up.
  for attempt in 1..2 loop
    if attempt = 1 then
      select * into mine from jobs j where j.queue_id = job;
    else
      -- The row before the provider: who ends a job has its row for some time, and nobody else should wait for that.
      select * into mine from jobs j where j.queue_id = job for update;
      if limited then perform pg_advisory_xact_lock(hashtextextended('farebox provider ' || mine.provider, 0)); end if;
    end if;
    if not found then return; end if;
    job_state := mine.state;
    job_operation := mine.operation;
    if mine.state not in ('accepted', 'submitted') then go := 'stop'; return next; return; end if;
    if mine.submission not in ('none', 'not_accepted') then
      go := case when mine.operation is null then 'ask' else 'poll' end;
      return next;
      return;
    end if;
    if limited then
      waits_for := 'place';
      wait_ms := line_wait(mine, most_running, most_per_minute);
    end if;
    if wait_ms is null then
      waits_for := 'provider';
      wait_ms := circuit_wait(mine, attempt = 2);
    end if;
    if wait_ms is not null then go := 'wait'; return next; return; end if;
  end loop;
  update jobs j set state = 'submitted', submission = 'sent', submitted_at = clock_timestamp() where j.queue_id = job;
  insert into job_events (queue_id, event, detail) values (job, 'submitted', mine.provider)
    on conflict (queue_id, event) do nothing;
  if most_per_minute is not null then
    delete from provider_starts where provider = mine.provider and at <= clock_timestamp() - interval '1 minute';
    insert into provider_starts values (mine.provider, clock_timestamp(), mine.account_id);
  end if;
  go := 'submit';
  waits_for := null;
  return next;
end $$;

-- A provider did not answer, or said that it cannot serve anybody. The pause in milliseconds when this closes the way to it,
-- else null: what was under way when it closed makes no pause longer.
create function note_provider_down(named text, failures_to_open integer) returns integer
language plpgsql volatile as $$
declare
  health provider_health;
begin
  insert into provider_health (provider) values (named) on conflict do nothing;
  select * into health from provider_health where provider = named for update;
  if health.open_until > clock_timestamp() then return null; end if;
  health.failures := least(health.failures + 1, 1000000);
  if health.open_until is null and health.failures < failures_to_open then
    update provider_health set failures = health.failures where provider = named;
    return null;
  end if;
  health.pause_ms := least(300000, greatest(5000, health.pause_ms * 2));
  update provider_health set failures = health.failures, pause_ms = health.pause_ms, probe_until = null,
      open_until = clock_timestamp() + health.pause_ms * interval '1 millisecond'
    where provider = named;
  return health.pause_ms;
end $$;

-- It answered. True when the way to it was closed or half open until now.
create function note_provider_up(named text) returns boolean language plpgsql volatile as $$
declare
  health provider_health;
begin
  -- Most answers find nothing to be changed, and lock nothing.
  select * into health from provider_health where provider = named and (failures > 0 or open_until is not null);
  if not found then return false; end if;
  select * into health from provider_health where provider = named for update;
  update provider_health set failures = 0, pause_ms = 0, open_until = null, probe_until = null where provider = named;
  return health.open_until is not null;
end $$;

-- Down Migration

drop function note_provider_up;
drop function note_provider_down;
drop function open_submission;
drop function circuit_wait;
drop function line_wait;
drop function share_wait;
drop function line_pause;
drop function jobs_before;
drop table provider_health;
drop table provider_starts;
drop index jobs_in_line;
drop index jobs_at_work;
alter table jobs drop column callbacks;
alter table jobs drop column submitted_at;
