/** Health of the process and of each part that it needs. */
import type { Router } from '@koa/router';
import { FareboxError } from '../../domain/errors.ts';
import type { MonitorAccess } from '../../infra/http/monitorAccess.ts';
import type { RequestState } from './requestState.ts';

export interface HealthCheck {
  name: string;
  /** Resolves when the part answers; its wait ends at `PART_TIMEOUT_MS`. */
  check(timeoutMs: number): Promise<unknown>;
}

export interface Readiness {
  ready: boolean;
  parts: Record<string, 'ok' | 'missing'>;
}

const PART_TIMEOUT_MS = 2_000;
/** Load balancers ask from many places; the parts are asked once in this time. */
const REUSE_MS = 500;

/** `onMissing` is called once per outage, not once per request. */
export function createReadiness(parts: readonly HealthCheck[], onMissing: (name: string, error: unknown) => void) {
  const missing = new Set<string>();
  let known: Promise<Readiness> | undefined;
  let askedAt = 0;

  async function look(part: HealthCheck): Promise<'ok' | 'missing'> {
    const error = await failureOf(part);
    if (error === undefined) missing.delete(part.name);
    else if (!missing.has(part.name)) {
      missing.add(part.name);
      onMissing(part.name, error);
    }
    return error === undefined ? 'ok' : 'missing';
  }

  async function ask(): Promise<Readiness> {
    const states = await Promise.all(parts.map(look));
    const named = Object.fromEntries(parts.map(({ name }, index) => [name, states[index] ?? 'missing']));
    return { ready: states.every((state) => state === 'ok'), parts: named };
  }

  return function readiness(): Promise<Readiness> {
    const now = performance.now();
    if (known === undefined || now - askedAt > REUSE_MS) {
      askedAt = now;
      known = ask();
    }
    return known;
  };
}

async function failureOf(part: HealthCheck): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${PART_TIMEOUT_MS} ms`)), PART_TIMEOUT_MS);
  });
  try {
    await Promise.race([part.check(PART_TIMEOUT_MS), late]);
    return undefined;
  } catch (error) {
    return error ?? new Error('no answer');
  } finally {
    clearTimeout(timer);
  }
}

export interface HealthOptions {
  readiness(): Promise<Readiness>;
  draining(): boolean;
  metrics(): Promise<{ contentType: string; text: string }>;
  /** Whether a caller may read the parts and the metrics; others get the status only. */
  mayMonitor: MonitorAccess;
}

async function stateOf({ draining, readiness }: HealthOptions) {
  if (draining()) return { status: 'draining', parts: {} };
  const { ready, parts } = await readiness();
  return { status: ready ? 'ready' : 'not ready', parts };
}

/** Outside the base paths: for load balancers and monitoring. */
export function addHealthRoutes(router: Router<RequestState>, options: HealthOptions): void {
  router.get('/healthz', (ctx) => {
    ctx.state.route = '/healthz';
    ctx.body = { status: 'alive' };
  });
  router.get('/readyz', async (ctx) => {
    ctx.state.route = '/readyz';
    const { status, parts } = await stateOf(options);
    ctx.status = status === 'ready' ? 200 : 503;
    ctx.body = options.mayMonitor(ctx.req) ? { status, parts } : { status };
  });
  router.get('/metrics', async (ctx) => {
    ctx.state.route = '/metrics';
    if (!options.mayMonitor(ctx.req))
      throw new FareboxError({ code: 'route_not_found', message: 'The requested resource does not exist.' });
    const { contentType, text } = await options.metrics();
    ctx.type = contentType;
    ctx.body = text;
  });
}
