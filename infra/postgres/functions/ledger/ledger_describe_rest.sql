-- Snapshot of a rest beside its settled hold, whose own entry has the units and token counts already.
create or replace function ledger_describe_rest(snapshot jsonb, charge_id text)
returns jsonb language sql immutable parallel safe as $$
  select snapshot - array['promptTokens', 'completionTokens', 'inferenceExecutionTime']
    || jsonb_build_object('units', '0', 'restOf', charge_id,
      'notes', coalesce(snapshot ->> 'notes', 'API Inference') || '; beyond the amount held')
$$;
