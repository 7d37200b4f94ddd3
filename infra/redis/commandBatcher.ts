/**
 * Sends commands at once while Redis is idle. Commands that arrive while it is busy go together: a write to Redis takes
 * a tenth of a request's time. Bench `front`.
 */
import type { Redis } from 'ioredis';

export interface RedisCall {
  send(redis: Redis): Promise<void>;
  fail(error: unknown): void;
}

export interface CommandBatcher {
  /** Whether a new command waits, so that further ones may join it. */
  readonly busy: boolean;
  add(command: RedisCall): void;
}

/** Groups of commands that Redis processes at the same time. */
const MAX_UNDER_WAY = 2;

/** `onTaken`: called when the waiting commands are sent and no further one can join. */
export function createCommandBatcher(redis: Redis, onTaken: () => void): CommandBatcher {
  let underWay = 0;
  let held: RedisCall[] = [];

  function takeHeld(): RedisCall[] {
    const taken = held;
    held = [];
    onTaken();
    return taken;
  }

  function send(commands: readonly RedisCall[]): void {
    underWay += 1;
    let unanswered = commands.length;
    let failure: unknown;
    const answered = () => {
      unanswered -= 1;
      if (unanswered > 0) return;
      underWay -= 1;
      // On a dead connection the waiting commands would fail a second later.
      if (failure !== undefined) for (const command of takeHeld()) command.fail(failure);
      else if (held.length > 0) send(takeHeld());
    };
    // Before the first connection there is no stream, and the commands fail by themselves.
    const { stream } = redis as { stream?: Redis['stream'] };
    stream?.cork();
    for (const command of commands) {
      command.send(redis).then(answered, (error) => {
        failure = error;
        command.fail(error);
        answered();
      });
    }
    stream?.uncork();
  }

  return {
    get busy() {
      return underWay >= MAX_UNDER_WAY;
    },
    add(command) {
      if (underWay < MAX_UNDER_WAY) send([command]);
      else held.push(command);
    },
  };
}
