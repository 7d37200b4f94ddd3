/** The example of a route as a command: curl against `npm start`, whose address and key the shell knows. */
import type { Example } from '../http/describe.ts';
import type { Route } from '../http/route.ts';

/** For a POSIX shell in which FAREBOX_URL and FAREBOX_API_KEY are set, started where the repository lies. */
export function exampleCommand({ method, path, access }: Route, example: Example): string {
  const place = path.replace(/\{(\w+)\}/g, (_whole, name: string) => example.params?.[name] ?? '');
  const query = example.query ? `?${new URLSearchParams(example.query)}`.replaceAll('%24', '$') : '';
  const parts = [`curl -sS "$FAREBOX_URL${place}${query}"`];
  if (method !== 'GET' && !(method === 'POST' && (example.json || example.form))) parts.push(`-X ${method}`);
  if (access === 'own-wallet') parts.push('-H "SIGN-IN-WITH-X: $FAREBOX_SIGN_IN"');
  else if (access !== 'open') parts.push('-H "Authorization: Bearer $FAREBOX_API_KEY"');
  if (example.json) {
    parts.push("-H 'Content-Type: application/json'");
    parts.push(`-d ${quoted(JSON.stringify(example.json))}`);
  }
  for (const [name, value] of Object.entries(example.form ?? {}))
    parts.push(`-F ${quoted(`${name}=${value}`)}`);
  if (example.output) parts.push(`-o ${example.output}`);
  return [...(example.before ?? []), parts.join(' \\\n  ')].join('\n');
}

/** In single quotes unless it has a variable in it. */
function quoted(text: string): string {
  return text.includes('$') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `'${text}'`;
}
