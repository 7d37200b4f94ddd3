-- Number of jobs of the same account that wait before this one, at most 2,000.
create or replace function jobs_before(mine jobs) returns integer language sql volatile as $$
  select count(*)::integer from (
    select from jobs j where j.provider = mine.provider and j.account_id = mine.account_id
      and j.created_at < mine.created_at
      and (j.state = 'accepted' or (j.state = 'submitted' and j.submission = 'not_accepted'))
    limit 2000) as counted
$$;
