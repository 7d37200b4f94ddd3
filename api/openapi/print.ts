/** `npm run openapi`: prints the description, or writes it with `--out`; without the build time. */
import { writeFileSync } from 'node:fs';
import { UNBUILT } from '../../infra/config/buildVersion.ts';
import { ROUTES } from '../routes.ts';
import { describeApi } from './document.ts';

const out = process.argv.indexOf('--out');
const text = `${JSON.stringify(describeApi({ routes: ROUTES, title: 'Farebox', version: UNBUILT }), null, 2)}\n`;
if (out >= 0) writeFileSync(process.argv[out + 1] ?? 'openapi.json', text);
else process.stdout.write(text);
