-- Up Migration

-- Tables that grow with use are partitioned: audit by the month of its writing, job events and job changes by the month in
-- which the job was ordered. What makes a repetition harmless stays unique over all time, because it is either unpartitioned
-- or contains the partition key: operations (operation_id, kind), jobs (queue_id), job_events (queue_id, event), top_ups and
-- idempotency keys. operations is one table: by hash of its id in 8 partitions, holds and settles took 1.4 times as long. Its
-- ids tell the time, so that its index grows at one end.

create table partitioned_tables (
  name text primary key,
  -- `time`: by created_at. `job`: by queue_id, a UUID of version 7, whose first 48 bits are Unix milliseconds.
  keyed_by text not null check (keyed_by in ('time', 'job')),
  -- A trigger function that refuses every change of a row; null where rows may be changed.
  guard text
);
insert into partitioned_tables values
  ('audit_events', 'time', 'refuse_audit_change'),
  ('job_events', 'job', null), ('job_changes', 'job', null);
revoke all on partitioned_tables from farebox_app;

-- The bound of a month as the key of its table has it.
create function partition_bound(keyed_by text, month timestamptz) returns text language sql immutable as $$
  select case keyed_by
    when 'time' then month::text
    else regexp_replace(lpad(to_hex((extract(epoch from month) * 1000)::bigint), 12, '0') || repeat('0', 20),
      '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\1-\2-\3-\4-\5')
  end
$$;

-- Makes what is missing of the partitions from one month to another. A month that has rows in the default partition already
-- stays there: nothing is moved, and no insert ever fails for want of a partition. Returns how many were made.
create function create_month_partitions(first timestamptz, last timestamptz) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  t record;
  month timestamptz;
  partition text;
  made integer := 0;
begin
  -- One at a time, and never while a long transaction keeps a table: the next run finds it missing again.
  perform pg_advisory_xact_lock(hashtextextended('farebox partitions', 0));
  perform set_config('lock_timeout', '5s', true);
  for t in select * from partitioned_tables order by name loop
    month := date_trunc('month', first);
    while month <= last loop
      partition := t.name || to_char(month, '_YYYY_MM');
      if to_regclass(partition) is null then
        begin
          execute format('create table %I partition of %I for values from (%L) to (%L)', partition, t.name,
            partition_bound(t.keyed_by, month), partition_bound(t.keyed_by, month + interval '1 month'));
          -- Default privileges would let the services change rows of a partition that they name.
          execute format('revoke all on %I from farebox_app', partition);
          if t.guard is not null then
            execute format('create trigger %I before update or delete or truncate on %I for each statement
              execute function %I()', t.name || '_append_only', partition, t.guard);
          end if;
          made := made + 1;
        exception when check_violation then
          null;
        end;
      end if;
      month := month + interval '1 month';
    end loop;
  end loop;
  return made;
end $$;

-- For the services: this month and the three that follow.
create function prepare_partitions() returns integer language sql security definer
set search_path = public, pg_temp as $$
  select create_month_partitions(ledger_now(), ledger_now() + interval '3 months')
$$;
revoke all on function create_month_partitions from public;
revoke all on function prepare_partitions from public;
grant execute on function prepare_partitions to farebox_app;

alter table audit_events rename to audit_events_before;
alter table audit_events_before rename constraint audit_events_pkey to audit_events_before_pkey;
drop index audit_events_account;
create table audit_events (like audit_events_before including defaults including constraints,
  primary key (created_at, id)) partition by range (created_at);
alter table audit_events alter column id add generated always as identity;

drop trigger job_event_coming on job_events;
drop trigger job_event_added on job_events;
alter table job_events rename to job_events_before;
alter table job_events_before rename constraint job_events_pkey to job_events_before_pkey;
create table job_events (like job_events_before including defaults including constraints,
  primary key (queue_id, event)) partition by range (queue_id);

alter table job_changes rename to job_changes_before;
alter table job_changes_before rename constraint job_changes_pkey to job_changes_before_pkey;
create table job_changes (like job_changes_before including defaults including constraints,
  primary key (queue_id, seq)) partition by range (queue_id);

create table audit_events_other partition of audit_events default;
-- Jobs that were ordered before their ids told the time stay here.
create table job_events_other partition of job_events default;
create table job_changes_other partition of job_changes default;
revoke all on audit_events_other, job_events_other, job_changes_other from farebox_app;
create trigger audit_events_append_only before update or delete or truncate on audit_events_other
  for each statement execute function refuse_audit_change();

select create_month_partitions(
  least(ledger_now(), (select min(created_at) from audit_events_before)),
  ledger_now() + interval '3 months');

insert into audit_events overriding system value select * from audit_events_before;
select setval(pg_get_serial_sequence('audit_events', 'id'), coalesce(max(id), 0) + 1, false) from audit_events;
insert into job_events select * from job_events_before;
insert into job_changes select * from job_changes_before;
drop table audit_events_before, job_events_before, job_changes_before;

create index audit_events_account on audit_events (account_id, id desc);
alter table job_events add foreign key (queue_id) references jobs (queue_id) on delete cascade;
alter table job_changes add foreign key (queue_id) references jobs (queue_id) on delete cascade;

create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();
create trigger job_event_coming before insert on job_events for each row execute function lock_job_of_event();
create trigger job_event_added after insert on job_events for each row execute function note_job_event();

revoke all on audit_events, job_events, job_changes from farebox_app;
grant select, insert on audit_events, job_events, job_changes to farebox_app;
-- The details of an erased account's jobs are removed.
grant update on job_events to farebox_app;

-- Down Migration

do $$ begin raise exception 'partitions are not taken back: restore a backup from before this migration'; end $$;
