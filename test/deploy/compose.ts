import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const text = z.string();
const environment = z.record(text, z.union([text, z.number()]).transform(String));
const dependency = z.object({ condition: text });

const service = z.object({
  image: text,
  build: z.object({ context: text, dockerfile: text }).optional(),
  command: z.array(text).optional(),
  entrypoint: z.array(text).optional(),
  container_name: text.optional(),
  environment: environment.default({}),
  ports: z.array(text).default([]),
  volumes: z.array(text).default([]),
  networks: z.array(text).default([]),
  depends_on: z.record(text, dependency).default({}),
  restart: text.optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(text).default([]),
  cap_add: z.array(text).default([]),
  security_opt: z.array(text).default([]),
  tmpfs: z.array(text).default([]),
  pids_limit: z.number().optional(),
  mem_limit: text.optional(),
  privileged: z.boolean().optional(),
  stop_grace_period: text.optional(),
  healthcheck: z
    .object({ test: z.array(text).optional(), disable: z.boolean().optional(), interval: text.optional() })
    .optional(),
});
export type Service = z.output<typeof service>;

const compose = z.object({
  services: z.record(text, service),
  networks: z.record(text, z.object({ internal: z.boolean().optional() })),
  volumes: z.record(text, z.unknown()),
});

/** docker-compose.yml with anchors and merges resolved, but not its variables. */
export const { services, networks, volumes } = compose.parse(
  parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8'), { merge: true }),
);

export function serviceOf(name: string): Service {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

const VARIABLE = /\$\{([A-Z0-9_]+)(?:(:-|:\?)([^{}]*))?\}/g;

/** Substitutes variables as compose does when only the three secrets are set. */
export function resolve(value: string): string {
  return value.replace(VARIABLE, (_all, name: string, operator: string | undefined, rest = '') =>
    operator === ':-' ? rest : `test-${name.toLowerCase()}`,
  );
}

export function resolveAll(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolve(value)]));
}
