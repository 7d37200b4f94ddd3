-- Fair share. Milliseconds until a job may take one of `most` places or starts; null: now. `used` has an account once
-- for each place that it has. Every account that is present has the same share. An account may take more than its share
-- while places are free, unless an account with fewer places waits. `kept_ms`: how long a place is usually kept.
create or replace function share_wait(mine jobs, most integer, used uuid[], kept_ms float8) returns integer
language plpgsql volatile as $$
declare
  own integer;
  share integer;
  outdone boolean;
  before integer;
begin
  -- Each waiting account is found by the index. More accounts than there are places need not be read.
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
