/** How the generations of Claude take thinking and sampling; each refuses the other's form with a 400. */

export interface ClaudeForms {
  /** `budget`: so many tokens; `adaptive`: by an effort. */
  thinking: 'budget' | 'adaptive';
  /** How it is told not to think; `effort`: it cannot, and the lowest effort is the nearest. */
  off: 'disabled' | 'between_tools' | 'effort';
  /** Whether it thinks where the request says nothing of it. */
  thinksUnasked: boolean;
  /** Whether `temperature`, `top_p` and `top_k` are taken. */
  sampling: boolean;
  /** Whether the effort `xhigh` is known. */
  xhigh: boolean;
}

export function formsOf(model: string): ClaudeForms {
  const version = versionOf(model);
  const older = { off: 'disabled', thinksUnasked: false, sampling: true, xhigh: false } as const;
  if (version < 4.6) return { thinking: 'budget', ...older };
  if (version < 4.7) return { thinking: 'adaptive', ...older };
  const newest = version >= 5.5 || /fable|mythos/.test(model);
  const off = newest ? (model.includes('sonnet') ? 'between_tools' : 'effort') : 'disabled';
  return { thinking: 'adaptive', off, thinksUnasked: version >= 5, sampling: false, xhigh: true };
}

/** `claude-opus-4-7`, `claude-3-7-sonnet-20250219`: the first two numbers; a date is none. Without numbers: the newest. */
function versionOf(model: string): number {
  const numbers = model.split(/[^0-9]+/).filter((part) => part !== '' && part.length < 3);
  const [major, minor = '0'] = numbers;
  return major === undefined ? 5 : Number(`${major}.${minor}`);
}
