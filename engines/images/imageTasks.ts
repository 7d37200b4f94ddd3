/** Tasks of the image child by name. The parent process imports only the types. */
import { cutOut } from './cutOut.ts';
import { edit } from './edit.ts';
import { enlarge } from './enlarge.ts';
import { finish } from './finish.ts';
import { makePlain } from './plain.ts';
import { testCard } from './testCard.ts';

/** Inputs and results can be cloned. A task throws ImageRefusal when the file is at fault. */
export const IMAGE_TASKS = { makePlain, finish, edit, enlarge, cutOut, testCard };

type ImageTasks = typeof IMAGE_TASKS;
export type ImageTaskName = keyof ImageTasks;
export type ImageTaskInput<Name extends ImageTaskName> = Parameters<ImageTasks[Name]>[0];
export type ImageTaskResult<Name extends ImageTaskName> = Awaited<ReturnType<ImageTasks[Name]>>;
