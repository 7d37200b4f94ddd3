/** The operator's command line: `npm run farebox -- …`. Answers on stdout, one line per error on stderr. */
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './accounts.ts';
import { CommandError, errorLine } from './commandError.ts';
import { addConfigCommands } from './config.ts';
import { addCreditCommands } from './credit.ts';
import { addDoctorCommand } from './doctor.ts';
import { addJobCommands } from './jobs.ts';
import { addKeyCommands } from './keys.ts';
import { addLedgerCommands } from './ledger.ts';
import { addMigrateCommand } from './migrate.ts';
import { addTopUpCommands } from './topUps.ts';
import { addWorkerCommands } from './worker.ts';

const EPILOGUE = `
Addresses come from the environment (DATABASE_URL, REDIS_URL, …); without DATABASE_URL those of a running
\`npm start\` are used (dev.json in FAREBOX_DATA). Exit codes: 0 done, 1 the answer is no (a broken ledger,
a wrong configuration), 2 the command could not be carried out.`;

function buildProgram(): Command {
  const program = new Command('farebox')
    .description('Operate Farebox: accounts, keys, credit, jobs, top-ups, the ledger and the configuration.')
    .addHelpText('after', EPILOGUE);
  addAccountCommands(program);
  addKeyCommands(program);
  addCreditCommands(program);
  addJobCommands(program);
  addLedgerCommands(program);
  addTopUpCommands(program);
  addConfigCommands(program);
  addDoctorCommand(program);
  addMigrateCommand(program);
  addWorkerCommands(program);
  for (const command of everyCommand(program)) {
    command.exitOverride().showHelpAfterError('(add --help for the options)');
  }
  return program;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

function exitCodeOf(error: unknown): number {
  // Commander has already printed its message or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`farebox: ${errorLine(error)}\n`);
  return error instanceof CommandError ? error.exitCode : 2;
}

try {
  await buildProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
